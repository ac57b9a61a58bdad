"""What a rollout did on its way, set against the question's own chain: pure functions of what is stored.

Hit rate and deviation are HPS and RD of MC-Search (arXiv 2603.00873), the efficiency is ASTRA's (arXiv 2601.21558).
Here a hop counts as found in another passage too, if that one names its answer and what the answer is about; by the
gold passage alone, HPS is biased low.
"""

import re
from collections.abc import Sequence
from enum import StrEnum

from pipeline.assess import observations
from pipeline.text import contains, normalise
from pipeline.types import Data, Draft, Record, Rollout, Stop, Verdict

# As `normalise` takes them out before it looks for words.
_APOSTROPHE = re.compile(r"['’]s?\b")


class Failure(StrEnum):
    """Why a rollout was not correct, as far as it can be computed; the first that fits."""

    OUT_OF_BUDGET = "out_of_budget"
    """No answer: turns, tokens or context ran out."""
    FORMAT = "format"
    """No answer: its calls could not be read."""
    MISSED_EVIDENCE = "missed_evidence"
    """The evidence of some hop was never seen."""
    PREMATURE = "premature"
    """It gave the answer of a hop on the way."""
    UNSUPPORTED = "unsupported"
    """The right answer, without having seen what supports it."""
    MISREAD = "misread"
    """It saw all the evidence and answered something else."""


class Process(Data):
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
    failure: Failure | None
    """None for a correct rollout."""
    taxonomy: str | None = None
    """DeepVerifier's kind of failure (arXiv 2601.15808); None where no model judged it."""


def process(draft: Draft, rollout: Rollout, verdict: Verdict) -> Process:
    """The fields of one rollout of `draft`."""
    found_at = found(draft, rollout)
    hops, hit = len(draft.hops), sum(step is not None for step in found_at)
    return Process(
        sample=rollout.sample,
        hit_step=verdict.hit_step,
        found_at=found_at,
        steps=verdict.steps,
        useful_steps=_useful(rollout),
        hit_rate=hit / hops,
        deviation=abs(verdict.steps - hops),
        efficiency=2 * hit / (hops + verdict.calls),
        failure=failure(draft, rollout, verdict, found_at),
    )


def processes(record: Record) -> tuple[Process, ...]:
    """Of the rollouts that difficulty and solve rate rest on, in their order."""
    if record.last is None or record.draft is None:
        return ()
    rollouts = record.confirmation if record.confirmation_verdicts else record.last.rollouts
    return tuple(process(record.draft, r, v) for r, v in zip(rollouts, record.measured, strict=True))


def found(draft: Draft, rollout: Rollout) -> tuple[int | None, ...]:
    """For each hop the step at which its own passage, or another one that says the same, was first shown."""
    at: list[int | None] = [None] * len(draft.hops)
    step = 0
    for call, text in observations(rollout):
        step += not call.repeat
        for number in range(len(draft.hops)):
            if at[number] is None and shows(draft, number, call.passage_ids, text):
                at[number] = step
    return tuple(at)


def shows(draft: Draft, number: int, passage_ids: Sequence[str], text: str) -> bool:
    """Does an observation hold the evidence of that hop?"""
    hop = draft.hops[number]
    if hop.passage_id in passage_ids:
        return True
    subject = draft.hops[number - 1].answer if number else hop.title
    return any(_holds(block, hop.answer) and _holds(block, subject) for block in text.split("\n\n"))


def _holds(text: str, phrase: str) -> bool:
    """`contains`, with a quick no for plain ASCII, of which nearly all words of most passages are: a data set has
    millions of passages, and normalising each costs more than all else in an export."""
    if text.isascii():
        plain = _APOSTROPHE.sub("", text).lower()
        if not all(word in plain for word in normalise(phrase).split()):
            return False
    return contains(text, phrase)


def failure(
    draft: Draft, rollout: Rollout, verdict: Verdict, found_at: Sequence[int | None] | None = None
) -> Failure | None:
    if verdict.correct:
        return None
    if not rollout.answer:
        return Failure.FORMAT if rollout.trajectory.stop is Stop.FORMAT_ERRORS else Failure.OUT_OF_BUDGET
    if verdict.right:
        return Failure.UNSUPPORTED
    if normalise(rollout.answer) in {normalise(hop.answer) for hop in draft.hops[:-1]}:
        return Failure.PREMATURE
    missed = None in (found(draft, rollout) if found_at is None else found_at)
    return Failure.MISSED_EVIDENCE if missed else Failure.MISREAD


def _useful(rollout: Rollout) -> int:
    seen: set[str] = set()
    useful = 0
    for call in rollout.trajectory.calls:
        useful += not call.repeat and not seen.issuperset(call.passage_ids)
        seen.update(call.passage_ids)
    return useful
