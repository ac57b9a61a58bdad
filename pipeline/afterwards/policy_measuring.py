"""Measure a model to be trained on the questions of a run. Each result is kept beside the journal as it ends."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from pydantic import ValidationError

from pipeline.afterwards.reopening import make_graded_rollout
from pipeline.agents.solver import attempt as attempted
from pipeline.agents.solver import solver
from pipeline.analysis.estimates import compact
from pipeline.config import RunConfig
from pipeline.config.models import ModelConfig, Models
from pipeline.context import RunContext
from pipeline.errors import ProviderError, UsageError, in_words
from pipeline.llm import ledger
from pipeline.llm.concurrent_work import run_concurrently
from pipeline.llm.ledger import Spent
from pipeline.loop import policies
from pipeline.run import attempts
from pipeline.run.attempts import AttemptLog
from pipeline.store.amendments import Completions, Remeasurements
from pipeline.types import Assessment, Data, Draft, GradedRollout, PolicyMeasurement, ReasonCode, Record, Status, Usage
from pipeline.types.twin_record import as_record

POOL = ("below_target", "below_range", "beyond_solver", "gate:solve_rate", "gate:known_to")
"""Reasons of rejected records that are measured beside the accepted ones: another policy, or a later checkpoint, may
find them harder or easier."""


class Remeasuring(Data):
    """How a policy does on the questions of a run."""

    policy: str
    model: str
    questions: int
    solved: int
    solve_rate: float | None
    """Mean over the questions; None without questions."""
    known: int
    """Questions that the policy answers without search in most attempts."""
    opened: int
    """Questions beyond the run's solver that the policy solves at their target."""
    outgrown: int
    """Questions with a solve rate outside `gates.solve_rate`: an export for this policy leaves them out."""


class Budgets(Data):
    """Limits for one policy with its settings: `seconds` for each command, the others over all commands together."""

    tokens: int | None = None
    money: float | None = None
    seconds: float | None = None


def recast(
    config: RunConfig,
    policy: str,
    model: ModelConfig | None,
    budgets: Budgets = Budgets(),  # noqa: B008 - frozen
) -> RunConfig:
    """Return the run's configuration with `policy` as its only policy.

    Without a `model` the policy keeps the settings that the run has for it. Raises UsageError if the run has none, or
    if the model cannot be configured.
    """
    if model is None and policy not in config.models.policies:
        policy_names = ", ".join(config.models.policies) or "none"
        raise UsageError(
            f"no policy '{policy}' in [models.policies] (known: {policy_names}); name its model with --model"
        )
    tree = config.models.model_dump() | {"policies": {policy: (model or config.models.policies[policy]).model_dump()}}
    try:
        models = Models.model_validate(tree)
    except ValidationError as error:
        raise UsageError(in_words(error.errors()[0]["msg"])) from error
    runtime = config.runtime.model_copy(update={f"budget_{name}": limit for name, limit in budgets})
    # Limits are those of the run's environment.
    return config.model_copy(update={"models": models, "runtime": runtime})


def check_band(config: RunConfig, policy: str) -> None:
    """Raise UsageError if the gates allow this policy any solve rate."""
    if config.gates.banded_policy != policy:
        band = f"digsite export RUN --for {policy} --set 'gates.solve_rate=[0.2, 0.8]'"
        raise UsageError(f"no solve rate is set for {policy}, so no pair is outgrown; set one first: {band}")


def read_spending(policy: str, folder: Path, config: RunConfig) -> Spent:
    return attempts.total_spending(folder, file_name(policy, config)).total


def file_name(policy: str, config: RunConfig) -> str:
    return f"{policy}-{policies.compute_identity(policy, config)}"


def pool(records: Iterable[Record]) -> list[Record]:
    """Select the records worth remeasuring: the accepted ones first, then the others in their order."""
    candidates = [r for r in records if r.draft and (r.status is Status.ACCEPTED or r.reason in POOL)]
    return sorted(candidates, key=lambda record: record.status is not Status.ACCEPTED)


def describe_work(unmeasured: Sequence[Record], config: RunConfig) -> str:
    """Estimate in one line what the rollouts of these records will take, from what the solver's rollouts took."""
    count = config.loop.rollouts * len(unmeasured)
    usages = [rollout.trajectory.usage for record in unmeasured for rollout, _ in record.graded]
    line, usage = f"{len(unmeasured):,} question{'s' * (len(unmeasured) > 1)}, {count:,} rollouts", Usage.total(usages)
    if not usage.total_tokens:
        return line
    scale = count / len(usages)
    prompt, completion = scale * usage.computed_tokens, scale * usage.completion_tokens
    return f"{line}, about {compact(prompt)} computed prompt and {compact(completion)} completion tokens"


async def remeasure(
    policy: str,
    records: Iterable[Record],
    context: RunContext,
    folder: Path,
    progress: Callable[[int], None],
    announce: Callable[[str], None] = lambda line: None,
) -> Remeasuring:
    """Make K fresh rollouts and answers from memory for each record, and for its twin, that lacks them.

    A record lacks them if this policy with these settings has not been measured on it. The caller holds the run's lock.
    `announce` is called with an estimate before the first call. Raises errors of model and index, and BudgetExceeded;
    measurements completed by then are kept.
    """
    identity = policies.compute_identity(policy, context.config)
    name, day = file_name(policy, context.config), datetime.now(UTC).date().isoformat()
    with closing(Remeasurements(folder)) as remeasurements, closing(AttemptLog(folder)) as attempt_log:
        order, completions = remeasurements.order(name), Completions(folder)

        def measurements_of(record: Record) -> list[PolicyMeasurement]:
            return [m for m in remeasurements.join(record).measurements if (m.policy, m.identity) == (policy, identity)]

        async def measure_record(record: Record) -> Assessment:
            existing = measurements_of(record)
            if not existing:
                with attempt_log.noting(record.seed, "remeasured", name):
                    ledger.enter(ledger.POLICIES)
                    measurement = await policies.measure_policy(record, policy, context, _rollout)
                    if measurement and measurement.closed_book is None and policies.is_recallable(record):
                        raise ProviderError(
                            "a server refused a request for an answer from memory; repeat the command to continue"
                        )
                assert measurement  # noqa: S101 - `_rollout` returns one or raises
                dated = measurement.assessment.model_copy(update={"date": day})
                remeasurements.append(name, measurement.model_copy(update={"order": order, "assessment": dated}))
                return dated
            return existing[-1].assessment

        selected = [completions.join(record) for record in pool(records)]
        twins = [twin for record in selected if (twin := as_record(record))]
        if unmeasured := [record for record in (*selected, *twins) if not measurements_of(record)]:
            announce(describe_work(unmeasured, context.config))
        assessed = await run_concurrently([*selected, *twins], measure_record, context.config.seeds_at_work(), progress)
    return _summary(policy, list(zip(selected, assessed[: len(selected)], strict=True)), context)


async def _rollout(draft: Draft, sample: int, context: RunContext, model: ModelConfig) -> GradedRollout:
    agent = solver(context.config, context.llm, context.retriever, model)
    return await make_graded_rollout(draft, partial(attempted, agent, draft.question, sample), context)


def _summary(policy: str, assessed_records: list[tuple[Record, Assessment]], context: RunContext) -> Remeasuring:
    rates = [assessment.solve_rate for _, assessment in assessed_records]
    lowest, highest = context.config.gates.solve_rate
    beyond = [
        (assessment.least_steps or 0) >= record.seed.target_steps
        for record, assessment in assessed_records
        if record.reason == ReasonCode.BEYOND_SOLVER
    ]
    return Remeasuring(
        policy=policy,
        model=context.config.models.policies[policy].model,
        questions=len(assessed_records),
        solved=sum(rate > 0 for rate in rates),
        solve_rate=sum(rates) / len(rates) if rates else None,
        known=sum((assessment.known or 0) > 1 / 2 for _, assessment in assessed_records),
        opened=sum(beyond),
        outgrown=sum(not lowest <= rate <= highest for rate in rates),
    )
