"""How a run's models are asked for tool calls, and whether they are sent their earlier reasoning.

`digsite doctor` keeps its findings in the output folder. Without them a run has one short conversation with each model,
which the cache holds. Findings that differ from the defaults (the server's own calls, the configured `reasoning`)
become part of the run's configuration, and stay for the whole run.
"""

import logging
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import orjson
from pydantic import ValidationError

from pipeline.agents.tool_mode import ModeFinding, find
from pipeline.config import RunConfig
from pipeline.config.models import ModelConfig, Models
from pipeline.corpus import progress_log
from pipeline.llm.base import LLM
from pipeline.llm.ledger import Ledger, counting
from pipeline.run import prepare
from pipeline.run.resume import NAME as RUN
from pipeline.store.files import write_json

logger = logging.getLogger(__name__)
NAME = "tool-modes.json"
CALLERS = ("generator", "refiner", "curator", "solver", "teacher")
"""The roles that call tools."""


def resolve(config: RunConfig, roles: Sequence[str] = CALLERS, known_models: Models | None = None) -> RunConfig:
    """Return the configuration with the findings on each model that plays one of the roles or is to be trained.

    Models in `known_models` are not asked again. A run that was begun keeps its own configuration. Raises
    ProviderError, and UsageError if a server refuses every mode.
    """
    return resolve_with_cost(config, roles, known_models)[0]


def resolve_with_cost(
    config: RunConfig, roles: Sequence[str] = CALLERS, known_models: Models | None = None
) -> tuple[RunConfig, Ledger | None]:
    """Resolve as `resolve` does, and return what it cost, or None if no model was asked."""
    if (config.folder() / RUN).exists():
        return config, None
    known_names = {model.model for model in known_models.all()} if known_models else set()
    playing = [*map(config.models.of, roles), *config.models.policies.values()]
    unknown_models = {model.model: model for model in playing if not model.built_in and model.model not in known_names}
    stored = _read_findings(config.runtime.out)
    findings = {
        name: stored[name] for name, model in unknown_models.items() if name in stored and stored[name].holds_for(model)
    }
    cost = None
    if unasked := [model for name, model in unknown_models.items() if name not in findings]:
        new_findings, cost = prepare.wait(_probe_models(config, unasked))
        for model in unasked:
            _log_finding(model.model, model.tools, new_findings[model.model])
        findings |= new_findings
    models = _apply_findings(config.models, findings)
    return (config if models == config.models else config.model_copy(update={"models": models})), cost


async def _probe_models(config: RunConfig, models: Sequence[ModelConfig]) -> tuple[dict[str, ModeFinding], Ledger]:
    from pipeline.llm.llama import LlamaModel

    clients: list[LLM] = []

    def connect_closable(model: ModelConfig) -> LLM:
        clients.append(prepare.connect(config, model))
        return clients[-1]

    llm = prepare.model(config, connected=connect_closable)
    try:
        with counting() as ledger:
            return {model.model: await find(model, llm) for model in models}, ledger
    finally:
        # Free the weights, because the run loads its own.
        for client in clients:
            if isinstance(client, LlamaModel):
                client.close()


@cache
def _log_finding(name: str, setting: str, finding: ModeFinding) -> None:
    """Log a finding once per process, as a warning only if it is unusual."""
    if setting == "auto":
        level = logging.INFO if finding.mode == "native" else logging.WARNING
        log = logging.getLogger(progress_log.NAME) if finding.mode == "native" else logger
        log.log(level, "%s: tools = %s, since %s", name, finding.mode, finding.why)
    if finding.refuses:
        line = "%s: reasoning = %s, since the server refuses a conversation in which it is '%s'"
        logger.warning(line, name, finding.reasoning, finding.refuses)


def _apply_findings(models: Models, findings: Mapping[str, ModeFinding]) -> Models:
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

    roles = {
        name: change(role) for name in Models.model_fields if isinstance(role := getattr(models, name), ModelConfig)
    }
    policies = {name: change(policy) for name, policy in models.policies.items()}
    return models.model_copy(update={**roles, "policies": policies})


def keep(out: Path, findings: Mapping[str, ModeFinding]) -> None:
    all_findings = _read_findings(out) | dict(findings)
    write_json(out / NAME, {name: finding.model_dump() for name, finding in all_findings.items()})


def _read_findings(out: Path) -> dict[str, ModeFinding]:
    path = out / NAME
    try:
        tree = orjson.loads(path.read_bytes()) if path.exists() else {}
        return {name: ModeFinding.model_validate(finding) for name, finding in tree.items()}
    except (OSError, ValueError, AttributeError, ValidationError):
        logger.warning("%s cannot be read; 'digsite doctor' writes it anew", path)
        return {}
