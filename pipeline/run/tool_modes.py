"""How the models of a run are asked for calls of tools, where `tools = auto` leaves it open.

`digsite doctor` keeps what it finds in the output folder. A run without that asks each model once, and the answer is in
the cache; the mode becomes part of the run's configuration where it is another than the server's own calls.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

import orjson
from pydantic import ValidationError

from pipeline.agents.tool_mode import ModeFinding, find
from pipeline.config import RunConfig
from pipeline.config.models import ModelConfig, ToolMode
from pipeline.config.roles import Models
from pipeline.corpus import progress_log
from pipeline.run import prepare
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
    if (config.folder() / RUN).exists():
        return config
    before = {one.model for one in known.all()} if known else set()
    playing = [*map(config.models.of, roles), *config.models.policies.values()]
    unknown = {
        one.model: one
        for one in playing
        if one.tools == "auto" and not one.capabilities.calls_tools and one.model not in before
    }
    kept = _kept(config.how.out)
    found = {name: finding for name, finding in kept.items() if name in unknown}
    if left := [one for name, one in unknown.items() if name not in found]:
        with ThreadPoolExecutor(1, thread_name_prefix="digsite") as pool:
            asked = pool.submit(lambda: asyncio.run(_asked(config, left))).result()
        for name, finding in asked.items():
            _say(name, finding.mode, finding.why)
        found |= asked
    modes = {name: finding.mode for name, finding in found.items() if finding.mode != "native"}
    return config.model_copy(update={"models": _with(config.models, modes)}) if modes else config


async def _asked(config: RunConfig, models: Sequence[ModelConfig]) -> dict[str, ModeFinding]:
    llm = prepare.model(config)
    return {one.model: await find(one, llm) for one in models}


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
