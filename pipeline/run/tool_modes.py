"""How the models of a run are asked for calls of tools, and whether they are sent their earlier reasoning.

`digsite doctor` keeps what it finds in the output folder. A run without that has one short conversation with each
model, whose answers are in the cache. What is found becomes part of the run's configuration where it is another than
the server's own calls and the setting of `reasoning`, and it stays for the whole run.
"""

import logging
from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import cache
from pathlib import Path

import orjson
from pydantic import ValidationError

from pipeline.agents.tool_mode import ModeFinding, find
from pipeline.config import RunConfig
from pipeline.config.models import ModelConfig
from pipeline.config.roles import Models
from pipeline.corpus import progress_log
from pipeline.llm.base import LLM
from pipeline.llm.ledger import Ledger, counting
from pipeline.run import prepare
from pipeline.run.attempts import MODES, Attempt, AttemptLog
from pipeline.run.resume import NAME as RUN
from pipeline.store.files import write_json

logger = logging.getLogger(__name__)
NAME = "tool-modes.json"
CALLERS = ("generator", "refiner", "curator", "solver", "teacher")
"""The roles that call tools."""


def resolved(config: RunConfig, roles: Sequence[str] = CALLERS, known: Models | None = None) -> RunConfig:
    """Return the configuration with what is found of each model that plays one of the roles or is to be trained.

    Models of `known` have been asked before. A run that was begun says itself how its models are asked. Raises
    ProviderError, and UsageError if a server refuses every way.
    """
    return found(config, roles, known)[0]


def found(
    config: RunConfig, roles: Sequence[str] = CALLERS, known: Models | None = None
) -> tuple[RunConfig, Ledger | None]:
    """As `resolved`, with what it took, if any model was asked."""
    if (config.folder() / RUN).exists():
        return config, None
    before = {one.model for one in known.all()} if known else set()
    playing = [*map(config.models.of, roles), *config.models.policies.values()]
    unknown = {one.model: one for one in playing if not one.built_in and one.model not in before}
    kept = _kept(config.how.out)
    findings = {name: kept[name] for name, one in unknown.items() if name in kept and kept[name].holds_for(one)}
    taken = None
    if left := [one for name, one in unknown.items() if name not in findings]:
        asked, taken = prepare.wait(_asked(config, left))
        for one in left:
            _say(one.model, one.tools, asked[one.model])
        findings |= asked
    models = _with(config.models, findings)
    return (config if models == config.models else config.model_copy(update={"models": models})), taken


async def _asked(config: RunConfig, models: Sequence[ModelConfig]) -> tuple[dict[str, ModeFinding], Ledger]:
    from pipeline.llm.llama import LlamaModel

    clients: list[LLM] = []

    def connected(one: ModelConfig) -> LLM:
        clients.append(prepare.connect(config, one))
        return clients[-1]

    llm = prepare.model(config, connected=connected)
    try:
        with counting() as ledger:
            return {one.model: await find(one, llm) for one in models}, ledger
    finally:
        # The run loads weights of its own.
        for client in clients:
            if isinstance(client, LlamaModel):
                client.close()


def note(folder: Path, ledger: Ledger) -> None:
    """Add what it took to the attempts of the run in `folder`, whose lock the caller holds."""
    row = Attempt(
        key="",
        ended=MODES,
        reason="",
        began=ledger.began.isoformat(timespec="milliseconds"),
        seconds=ledger.seconds,
        spent=ledger.spending,
    )
    with closing(AttemptLog(folder)) as notes:
        notes.add(row)


@cache
def _say(name: str, setting: str, finding: ModeFinding) -> None:
    """Log a finding once in a process. What is usual is no warning."""
    if setting == "auto":
        level = logging.INFO if finding.mode == "native" else logging.WARNING
        log = logging.getLogger(progress_log.NAME) if finding.mode == "native" else logger
        log.log(level, "%s: tools = %s, since %s", name, finding.mode, finding.why)
    if finding.refuses:
        line = "%s: reasoning = %s, since the server refuses a conversation in which it is '%s'"
        logger.warning(line, name, finding.reasoning, finding.refuses)


def _with(models: Models, findings: Mapping[str, ModeFinding]) -> Models:
    def change(model: ModelConfig) -> ModelConfig:
        finding = findings.get(model.model)
        if finding is None:
            return model
        changes: dict[str, str] = {}
        if model.tools == "auto" and finding.mode != "native":
            changes["tools"] = finding.mode
        if model.reasoning == finding.refuses:
            changes["reasoning"] = finding.reasoning
        return model.model_copy(update=changes) if changes else model

    roles = {name: change(one) for name in Models.model_fields if isinstance(one := getattr(models, name), ModelConfig)}
    policies = {name: change(one) for name, one in models.policies.items()}
    return models.model_copy(update={**roles, "policies": policies})


def keep(out: Path, found: Mapping[str, ModeFinding]) -> None:
    """In the output folder, beside what was found of other models."""
    whole = _kept(out) | dict(found)
    write_json(out / NAME, {name: finding.model_dump() for name, finding in whole.items()})


def _kept(out: Path) -> dict[str, ModeFinding]:
    path = out / NAME
    try:
        tree = orjson.loads(path.read_bytes()) if path.exists() else {}
        return {name: ModeFinding.model_validate(one) for name, one in tree.items()}
    except (OSError, ValueError, AttributeError, ValidationError):
        logger.warning("%s cannot be read; 'digsite doctor' writes it anew", path)
        return {}
