"""Metrics of a rollout against the evidence chain of its question: pure functions of stored data.

Hit rate and deviation are HPS and RD of MC-Search (arXiv 2603.00873); efficiency is that of ASTRA (arXiv 2601.21558).
Here a hop also counts as found in another passage, if that one names the answer and its subject; with the gold passage
alone, HPS is biased low.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any

from pipeline.text.names import normalise
from pipeline.types import AnswerType, Data, Draft, Record, Rollout, Stop, Verdict


class FailureKind(StrEnum):
    """Why a rollout was not correct, as far as it can be computed. The first one that fits."""

    OUT_OF_BUDGET = "out_of_budget"
    """No answer: turns, tokens or context ran out, or it made the same calls again and again."""
    FORMAT = "format"
    """No answer: its calls could not be read."""
    INVENTED = "invented"
    """It gave an answer although the corpus holds none."""
    GAVE_UP = "gave_up"
    """It said that the corpus does not hold the answer."""
    MISSED_EVIDENCE = "missed_evidence"
    """It never saw the evidence of some hop."""
    PREMATURE = "premature"
    """It gave the answer of an earlier hop."""
    UNSUPPORTED = "unsupported"
    """The answer is right, but it never saw the evidence for it."""
    MISREAD = "misread"
    """It saw all the evidence and gave another answer."""


class RolloutMetrics(Data):
    """Metrics of one rollout."""

    sample: int
    hit_step: int | None
    """The step (from 1) at which the answer first shows."""
    found_at: tuple[int | None, ...]
    """For each hop, the step that first retrieved its evidence."""
    steps: int
    useful_steps: int
    """Number of steps that retrieved a new passage."""
    hit_rate: float
    """HPS: share of the hops whose evidence was seen."""
    deviation: int
    """RD: | steps - hops |."""
    efficiency: float
    """2 · hops found / (hops + calls), where repeats count as calls."""
    failure: FailureKind | None
    """None for a correct rollout."""


class SearchFailure(StrEnum):
    """What a failed rollout lacked. Every failed rollout has exactly one."""

    NOT_RETRIEVED = "not_retrieved"
    """The evidence that decides the answer was never shown."""
    MISREAD = "misread"
    """The evidence was shown, but the answer is wrong."""
    STOPPED_EARLY = "stopped_early"
    """The evidence was not shown, and the rollout answered in fewer steps than the question takes."""


def search_failure(rollout: Rollout, verdict: Verdict, needed: int) -> SearchFailure | None:
    """Return what a rollout lacked, or None if it is correct. `needed` is the least number of steps that suffice."""
    if verdict.correct:
        return None
    if verdict.supported:
        return SearchFailure.MISREAD
    if rollout.trajectory.stop is Stop.ANSWERED and verdict.steps < needed:
        return SearchFailure.STOPPED_EARLY
    return SearchFailure.NOT_RETRIEVED


def measure_rollout(draft: Draft, rollout: Rollout, verdict: Verdict) -> RolloutMetrics:
    return RolloutMetrics(
        sample=rollout.sample,
        hit_step=verdict.hit_step,
        found_at=verdict.found_at,
        steps=verdict.steps,
        useful_steps=useful_steps(rollout),
        hit_rate=hit_rate(verdict.found_at),
        deviation=abs(verdict.steps - len(verdict.found_at)),
        efficiency=efficiency(verdict),
        failure=find_failure(draft, rollout, verdict),
    )


def measured_rollouts(record: Record) -> Iterator[tuple[Draft, Rollout, Verdict]]:
    last = record.last
    if last and last.draft:
        rollouts = record.confirmation if record.confirmation_verdicts else last.rollouts
        for rollout, verdict in zip(rollouts, record.measured, strict=True):
            yield last.draft, rollout, verdict


def hit_rate(found_at: tuple[int | None, ...]) -> float:
    return (len(found_at) - found_at.count(None)) / len(found_at)


def efficiency(verdict: Verdict) -> float:
    hops = len(verdict.found_at)
    return 2 * (hops - verdict.found_at.count(None)) / (hops + verdict.calls)


def useful_steps(rollout: Rollout) -> int:
    passages: set[str] = set()
    useful = 0
    for call in rollout.trajectory.calls:
        before = len(passages)
        passages.update(call.passage_ids)
        useful += len(passages) > before and not call.repeat
    return useful


def summarise_steps(rollout: Rollout, found_at: tuple[int | None, ...]) -> list[dict[str, Any]]:
    """Return the steps in order, each with its sources and the hops (from 1) whose evidence it showed first."""
    steps = [call for call in rollout.trajectory.calls if not call.repeat]
    return [
        {
            "step": number,
            "tool": call.tool,
            "argument": call.argument,
            "passage_ids": list(call.passage_ids),
            "hops": [hop for hop, step in enumerate(found_at, 1) if step == number],
        }
        for number, call in enumerate(steps, 1)
    ]


def find_failure(draft: Draft, rollout: Rollout, verdict: Verdict) -> FailureKind | None:
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
