"""What a rollout did on its way, set against the question's own chain: pure functions of what is stored.

Hit rate and deviation are HPS and RD of MC-Search (arXiv 2603.00873), the efficiency is ASTRA's (arXiv 2601.21558).
Here a hop counts as found in another passage too, if that one names its answer and what the answer is about; by the
gold passage alone, HPS is biased low.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from pipeline.text.names import normalise
from pipeline.types import AnswerType, Data, Draft, Record, Rollout, Stop, Verdict


class FailureKind(StrEnum):
    """Why a rollout was not correct, as far as it can be computed; the first that fits."""

    OUT_OF_BUDGET = "out_of_budget"
    """No answer: turns, tokens or context ran out, or it made the same calls again and again."""
    FORMAT = "format"
    """No answer: its calls could not be read."""
    INVENTED = "invented"
    """It gave an answer where the corpus holds none."""
    GAVE_UP = "gave_up"
    """It answered that the corpus does not hold the answer."""
    MISSED_EVIDENCE = "missed_evidence"
    """The evidence of some hop was never seen."""
    PREMATURE = "premature"
    """It gave the answer of a hop on the way."""
    UNSUPPORTED = "unsupported"
    """The right answer, without having seen what supports it."""
    MISREAD = "misread"
    """It saw all the evidence and answered something else."""


class RolloutMetrics(Data):
    """Of one rollout. A hop's number is its place in the chain, from 0."""

    sample: int
    hit_step: int | None
    """The step (from 1) at which the answer first shows."""
    found_at: tuple[int | None, ...]
    """For each hop the step that first brought its evidence."""
    steps: int
    useful_steps: int
    """Steps that brought a passage not seen before."""
    hit_rate: float
    """HPS: hops whose evidence was seen, of all hops."""
    deviation: int
    """RD: | steps - hops |."""
    efficiency: float
    """2 · hops found / (hops + calls); repeats count as calls."""
    failure: FailureKind | None
    """None for a correct rollout."""


class SearchFailure(StrEnum):
    """What a failed rollout lacked, as a share of a policy's failures. Every failed rollout has one."""

    NOT_RETRIEVED = "not_retrieved"
    """The evidence that decides the answer was never shown."""
    MISREAD = "misread"
    """It was shown, and the answer is wrong all the same."""
    STOPPED_EARLY = "stopped_early"
    """It was not, and the rollout ended of itself after fewer steps than the question takes."""


def search_failure(rollout: Rollout, verdict: Verdict, needed: int) -> SearchFailure | None:
    """Return what a rollout lacked, or None if it is correct. `needed` is the least number of steps that suffice."""
    if verdict.correct:
        return None
    if verdict.supported:
        return SearchFailure.MISREAD
    if rollout.trajectory.stop is Stop.ANSWERED and verdict.steps < needed:
        return SearchFailure.STOPPED_EARLY
    return SearchFailure.NOT_RETRIEVED


def process(draft: Draft, rollout: Rollout, verdict: Verdict) -> RolloutMetrics:
    """The fields of one rollout of `draft`."""
    return RolloutMetrics(
        sample=rollout.sample,
        hit_step=verdict.hit_step,
        found_at=verdict.found_at,
        steps=verdict.steps,
        useful_steps=useful_steps(rollout),
        hit_rate=hit_rate(verdict.found_at),
        deviation=abs(verdict.steps - len(verdict.found_at)),
        efficiency=efficiency(verdict),
        failure=failure(draft, rollout, verdict),
    )


def measured(record: Record) -> Iterator[tuple[Draft, Rollout, Verdict]]:
    """The rollouts that difficulty and solve rate rest on, in their order."""
    last = record.last
    if last and last.draft:
        rollouts = record.confirmation if record.confirmation_verdicts else last.rollouts
        for rollout, verdict in zip(rollouts, record.measured, strict=True):
            yield last.draft, rollout, verdict


def hit_rate(at: tuple[int | None, ...]) -> float:
    """Of the hops, by where they were `found_at`, those whose evidence was seen."""
    return (len(at) - at.count(None)) / len(at)


def efficiency(verdict: Verdict) -> float:
    at = verdict.found_at
    return 2 * (len(at) - at.count(None)) / (len(at) + verdict.calls)


def useful_steps(rollout: Rollout) -> int:
    seen: set[str] = set()
    useful = 0
    for call in rollout.trajectory.calls:
        known = len(seen)
        seen.update(call.passage_ids)
        useful += len(seen) > known and not call.repeat
    return useful


def summary(rollout: Rollout, at: tuple[int | None, ...]) -> list[dict[str, Any]]:
    """The steps in order, each with its sources and the hops (from 1) whose evidence it was the first to show."""
    steps = [call for call in rollout.trajectory.calls if not call.repeat]
    return [
        {
            "step": number,
            "tool": call.tool,
            "argument": call.argument,
            "passage_ids": list(call.passage_ids),
            "hops": [hop for hop, step in enumerate(at, 1) if step == number],
        }
        for number, call in enumerate(steps, 1)
    ]


def failure(draft: Draft, rollout: Rollout, verdict: Verdict) -> FailureKind | None:
    if verdict.correct:
        return None
    if not rollout.answer:
        return FailureKind.FORMAT if rollout.trajectory.stop is Stop.FORMAT_ERRORS else FailureKind.OUT_OF_BUDGET
    if verdict.right:
        return FailureKind.UNSUPPORTED
    if draft.answer_type is AnswerType.UNANSWERABLE:
        return FailureKind.INVENTED
    if not rollout.answered:
        return FailureKind.GAVE_UP
    if normalise(rollout.answer) in {normalise(hop.answer) for hop in draft.hops[:-1]}:
        return FailureKind.PREMATURE
    return FailureKind.MISSED_EVIDENCE if None in verdict.found_at else FailureKind.MISREAD
