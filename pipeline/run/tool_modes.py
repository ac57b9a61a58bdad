"""How the models of a run are asked for calls of tools, where `tools = auto` leaves it open.

`digsite doctor` keeps what it finds in the output folder. A run without that asks each model once, and the answer is in
the cache; the mode becomes part of the run's configuration where it is another than the server's own calls.
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
from pipeline.config.models import ModelConfig, ToolMode
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
    """The same with a mode for each model that plays one of the roles or is to be trained, where `auto` leaves it open
    and it is not the server's own calls; those of `known` have been asked before. Raises ProviderError, UsageError.

    A run that was begun says itself how its models are asked.
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
    open_ones = {one.model: one for one in playing if one.tools == "auto" and not one.capabilities.calls_tools}
    unknown = {name: one for name, one in open_ones.items() if name not in before}
    findings = {name: finding for name, finding in _kept(config.how.out).items() if name in unknown}
    taken = None
    if left := [one for name, one in unknown.items() if name not in findings]:
        asked, taken = prepare.wait(_asked(config, left))
        for name, finding in asked.items():
            _say(name, finding.mode, finding.why)
        findings |= asked
    modes = {name: finding.mode for name, finding in findings.items() if finding.mode != "native"}
    return config.model_copy(update={"models": _with(config.models, modes)}) if modes else config, taken


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
def _say(name: str, mode: ToolMode, why: str) -> None:
    """Once in a process. What is usual is no warning."""
    line = f"{name}: tools = {mode}, since {why}"
    if mode == "native":
        logging.getLogger(progress_log.NAME).info("%s", line)
    else:
        logger.warning("%s", line)


def _with(models: Models, modes: Mapping[str, ToolMode]) -> Models:
    def changed(one: ModelConfig) -> ModelConfig:
        mode = modes.get(one.model) if one.tools == "auto" else None
        return one.model_copy(update={"tools": mode}) if mode else one

    roles = {
        name: changed(one) for name in Models.model_fields if isinstance(one := getattr(models, name), ModelConfig)
    }
    policies = {name: changed(one) for name, one in models.policies.items()}
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
