"""One traced example of a distractor that a rollout met."""

from typing import NamedTuple

from pipeline.analysis.seed_rows import TELLING, met
from pipeline.types import Call, Distractor, Outcome, Record


class DistractorExample(NamedTuple):
    question: str
    answer: str
    distractor: Distractor
    calls: tuple[Call, ...]
    step: int
    """The step (from 1) that first brought it."""
    given: str
    """The answer of the rollout."""
    outcome: Outcome


def example(record: Record, kind: str) -> DistractorExample | None:
    """The rollout whose outcome tells most of the distractors of that kind, of which one was met."""
    tried, draft = record.distractor_eval, record.draft
    if not tried or not draft:
        return None
    found = [
        (one, rollout)
        for rollout, all_met in zip(tried.with_distractors, met(record, kind), strict=True)
        for one in all_met
    ]
    encounter, rollout = min(found, key=lambda pair: TELLING.index(pair[0].outcome))
    return DistractorExample(
        question=draft.question,
        answer=draft.answer,
        distractor=next(one for one in tried.used if one.id == encounter.distractor),
        calls=rollout.trajectory.calls,
        step=encounter.step,
        given=rollout.answer,
        outcome=encounter.outcome,
    )
