"""The questions of a run, tried again by another solver: what it finds stands beside the journal, kept as it ends."""

import asyncio
import re
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import partial
from pathlib import Path

import orjson
from pydantic import ValidationError

from pipeline import prompts
from pipeline.agents.solver import attempt as attempted
from pipeline.agents.solver import solver
from pipeline.config import RunConfig
from pipeline.config.models import ModelConfig, Models
from pipeline.context import RunContext
from pipeline.errors import UsageError
from pipeline.loop import assess
from pipeline.run.additions import each, graded
from pipeline.run.attempts import Notes
from pipeline.store.additions import Remeasurements
from pipeline.types import Assessment, Data, Record, Remeasurement, Status, sha256

POOL = ("below_target", "beyond_solver")
"""Rejected records that are worth another try, beside the accepted ones."""
FIRST = 1000
"""The samples are fresh to a solver that has met the question before: a run's stay below."""


class Remeasuring(Data):
    """How the questions of a run stand with the other solver."""

    solver: str
    questions: int
    solved: int
    solve_rate: float | None
    """Mean over the questions; none where there are none."""
    opened: int
    """Of those beyond the run's solver, how many this one solves at their target."""


def recast(config: RunConfig, model: ModelConfig | None) -> RunConfig:
    """The run's configuration with another solver, by default the policy; all other roles are played as before.

    Raises UsageError.
    """
    if (model := model or config.models.policy) is None:
        raise UsageError("which solver? Name one with --model, or the model to be trained in [models.policy]")
    played = {"solver": model, "reader": config.models.of("reader")}
    tree = config.models.model_dump() | {role: one.model_dump() for role, one in played.items()}
    try:
        return config.model_copy(update={"models": Models.model_validate(tree)})
    except ValidationError as error:
        raise UsageError(error.errors()[0]["msg"].removeprefix("Value error, ")) from error


def identity(config: RunConfig) -> str:
    """The name of the file: the solver's, and a digest of all that its rollouts and verdicts depend on."""
    what = {
        "solver": config.models.of("solver").what(),
        "judges": [judge.what() for judge in config.models.judges()],
        "limits": config.solver.model_dump(mode="json"),
        "retrieval": config.retrieval.model_dump(mode="json"),
        "rollouts": config.loop.rollouts,
        "prompts": [prompts.load(name).digest for name in ("solver/answer", "judge/verdict")],
    }
    slug = re.sub(r"[^a-z0-9]+", "-", config.models.of("solver").model.lower()).strip("-")[:40] or "solver"
    return f"{slug}-{sha256(orjson.dumps(what, option=orjson.OPT_SORT_KEYS).decode())[:12]}"


def pool(records: Iterable[Record]) -> list[Record]:
    """The records worth remeasuring, in their order."""
    return [r for r in records if r.draft and (r.status is Status.ACCEPTED or r.reason in POOL)]


async def remeasure(
    records: Iterable[Record], context: RunContext, folder: Path, progress: Callable[[int], None]
) -> Remeasuring:
    """K fresh rollouts of `context`'s solver for each record that has none yet. The caller holds the run's lock.

    Raises what model and index do; what had ended is kept.
    """
    name, chosen = identity(context.config), pool(records)
    with closing(Remeasurements(folder)) as kept, closing(Notes(folder)) as notes:

        async def one(record: Record) -> Assessment:
            if not kept.has(record.key, name):
                with notes.noting(record.seed, "remeasured", name):
                    kept.append(name, await _measured(record, context))
            return kept.get(record.key, name).assessment

        found = await each(chosen, one, context.config.seeds_at_work(), progress)
    return _summary(list(zip(chosen, found, strict=True)), context)


async def _measured(record: Record, context: RunContext) -> Remeasurement:
    assert record.draft  # noqa: S101 - `pool` takes no other
    samples = range(FIRST, FIRST + context.config.loop.rollouts)
    agent = solver(context.config, context.llm, context.retriever)
    starts = [partial(attempted, agent, record.draft.question, sample) for sample in samples]
    tried = await asyncio.gather(*(graded(record.draft, start, context) for start in starts))
    verdicts = tuple(verdict for _, verdict in tried)
    return Remeasurement(
        key=record.key,
        assessment=assess.assessment(verdicts, context.config, context.lineage.retriever),
        rollouts=tuple(rollout for rollout, _ in tried),
        verdicts=verdicts,
    )


def _summary(found: list[tuple[Record, Assessment]], context: RunContext) -> Remeasuring:
    rates = [assessment.solve_rate for _, assessment in found]
    beyond = [(a.least_steps or 0) >= r.seed.target_steps for r, a in found if r.reason == "beyond_solver"]
    return Remeasuring(
        solver=context.config.models.of("solver").model,
        questions=len(found),
        solved=sum(rate > 0 for rate in rates),
        solve_rate=sum(rates) / len(rates) if rates else None,
        opened=sum(beyond),
    )
