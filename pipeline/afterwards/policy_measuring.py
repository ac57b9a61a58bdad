"""The questions of a run, tried by a model to be trained: what it finds stands beside the journal, kept as it ends."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from pipeline.afterwards.reopening import graded
from pipeline.agents.solver import attempt as attempted
from pipeline.agents.solver import solver
from pipeline.analysis.estimates import compact
from pipeline.config import RunConfig
from pipeline.config.models import ModelConfig
from pipeline.config.roles import Models
from pipeline.context import RunContext
from pipeline.errors import ProviderError, UsageError, in_words
from pipeline.llm import ledger
from pipeline.llm.concurrent_work import run_concurrently
from pipeline.llm.ledger import Spent
from pipeline.loop import policies
from pipeline.run import attempts
from pipeline.run.attempts import AttemptLog
from pipeline.store.amendments import Completions, Remeasurements
from pipeline.types import Assessment, Data, Draft, PolicyMeasurement, Record, Rollout, Status, Usage, Verdict
from pipeline.types.twin_record import as_record

POOL = ("below_target", "below_range", "beyond_solver", "gate:solve_rate", "gate:known_to")
"""Reasons of rejected records that are worth another try, beside the accepted ones: another policy, or a later
checkpoint, may find them harder or easier."""


class Remeasuring(Data):
    """How the questions of a run stand with a policy."""

    policy: str
    model: str
    questions: int
    solved: int
    solve_rate: float | None
    """Mean over the questions; none where there are none."""
    known: int
    """Of the questions, those that it answers without search in most tries."""
    opened: int
    """Of those beyond the run's solver, how many it solves at their target."""
    outgrown: int
    """Of the questions, those whose solve rate is outside `gates.solve_rate`: an export for it leaves them out."""


class Budgets(Data):
    """Of one policy with its settings, over all commands that measured it; `seconds` of one command."""

    tokens: int | None = None
    money: float | None = None
    seconds: float | None = None


def recast(
    config: RunConfig,
    policy: str,
    model: ModelConfig | None,
    budgets: Budgets = Budgets(),  # noqa: B008 - frozen
) -> RunConfig:
    """The run's configuration with that policy as its only one; by default with the settings that the run has for it.

    Raises UsageError.
    """
    if model is None and policy not in config.models.policies:
        known = ", ".join(config.models.policies) or "none"
        raise UsageError(f"no policy '{policy}' in [models.policies] (known: {known}); name its model with --model")
    tree = config.models.model_dump() | {"policies": {policy: (model or config.models.policies[policy]).model_dump()}}
    try:
        models = Models.model_validate(tree)
    except ValidationError as error:
        raise UsageError(in_words(error.errors()[0]["msg"])) from error
    how = config.how.model_copy(update={f"budget_{name}": most for name, most in budgets})
    # Limits are those of the run's environment.
    return config.model_copy(update={"models": models, "how": how})


def check_band(config: RunConfig, policy: str) -> None:
    """Raises UsageError where the gates allow that policy any solve rate."""
    if config.gates.banded_policy != policy:
        band = f"digsite export RUN --for {policy} --set 'gates.solve_rate=[0.2, 0.8]'"
        raise UsageError(f"which pairs has {policy} outgrown? Say it first: {band}")


def spent(policy: str, folder: Path, config: RunConfig) -> Spent:
    """What measuring that policy with these settings has taken so far."""
    return attempts.spent(folder, file_name(policy, config)).total


def file_name(policy: str, config: RunConfig) -> str:
    """Of what is kept of that policy with these settings."""
    return f"{policy}-{policies.identity(policy, config)}"


def pool(records: Iterable[Record]) -> list[Record]:
    """The records worth remeasuring: the accepted ones first, then the others in their order."""
    found = [r for r in records if r.draft and (r.status is Status.ACCEPTED or r.reason in POOL)]
    return sorted(found, key=lambda record: record.status is not Status.ACCEPTED)


def describe_work(owed: Sequence[Record], config: RunConfig) -> str:
    """Say in one line what the rollouts of these records will take, by what the solver's took."""
    count = config.loop.rollouts * len(owed)
    made = [rollout.trajectory.usage for record in owed for rollout in record.confirmation]
    line, one = f"{len(owed):,} question{'s' * (len(owed) > 1)}, {count:,} rollouts", Usage.total(made)
    if not one.total_tokens:
        return line
    times = count / len(made)
    prompt, completion = times * one.computed_tokens, times * one.completion_tokens
    return f"{line}, about {compact(prompt)} computed prompt and {compact(completion)} completion tokens"


async def remeasure(
    policy: str,
    records: Iterable[Record],
    context: RunContext,
    folder: Path,
    progress: Callable[[int], None],
    announce: Callable[[str], None] = lambda line: None,
) -> Remeasuring:
    """K fresh rollouts, and tries from memory, for each record that has none yet of this policy with its settings, and
    for its twin. The caller holds the run's lock. What it will take is announced before the first call.

    Raises what model and index do, and BudgetExceeded; what had ended is kept.
    """
    identity = policies.identity(policy, context.config)
    name, day = file_name(policy, context.config), datetime.now(UTC).date().isoformat()
    with closing(Remeasurements(folder)) as kept, closing(AttemptLog(folder)) as notes:
        order, completed = kept.order(name), Completions(folder)

        def known(record: Record) -> list[PolicyMeasurement]:
            return [m for m in kept.join(record).measurements if (m.policy, m.identity) == (policy, identity)]

        async def one(record: Record) -> Assessment:
            found = known(record)
            if not found:
                with notes.noting(record.seed, "remeasured", name):
                    ledger.enter(ledger.POLICIES)
                    made = await policies.measured(record, policy, context, _rollout)
                    if made and made.closed_book is None and policies.is_recallable(record):
                        raise ProviderError("a server refused a try from memory; repeat the command to continue")
                assert made  # noqa: S101 - `_rollout` gives one or raises
                dated = made.assessment.model_copy(update={"date": day})
                kept.append(name, made.model_copy(update={"order": order, "assessment": dated}))
                return dated
            return found[-1].assessment

        chosen = [completed.join(record) for record in pool(records)]
        twins = [twin for record in chosen if (twin := as_record(record))]
        if owed := [record for record in (*chosen, *twins) if not known(record)]:
            announce(describe_work(owed, context.config))
        assessed = await run_concurrently([*chosen, *twins], one, context.config.seeds_at_work(), progress)
    return _summary(policy, list(zip(chosen, assessed[: len(chosen)], strict=True)), context)


async def _rollout(draft: Draft, sample: int, context: RunContext, model: ModelConfig) -> tuple[Rollout, Verdict]:
    agent = solver(context.config, context.llm, context.retriever, model)
    return await graded(draft, partial(attempted, agent, draft.question, sample), context)


def _summary(policy: str, found: list[tuple[Record, Assessment]], context: RunContext) -> Remeasuring:
    rates = [assessment.solve_rate for _, assessment in found]
    low, high = context.config.gates.solve_rate
    beyond = [(a.least_steps or 0) >= r.seed.target_steps for r, a in found if r.reason == "beyond_solver"]
    return Remeasuring(
        policy=policy,
        model=context.config.models.policies[policy].model,
        questions=len(found),
        solved=sum(rate > 0 for rate in rates),
        solve_rate=sum(rates) / len(rates) if rates else None,
        known=sum((assessment.known or 0) > 1 / 2 for _, assessment in found),
        opened=sum(beyond),
        outgrown=sum(not low <= rate <= high for rate in rates),
    )
