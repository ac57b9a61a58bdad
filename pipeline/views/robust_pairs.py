"""`robust_pairs`: the turn that believed a distractor, and one that did not from the same state; for TRL's DPOTrainer.

Rules: TRL 1.16 "Dataset formats" (`prompt`, `chosen`, `rejected` as messages, and `tools`). Trainers mask the prompt
alone, so that a completion with observations would train on the distractor: either completion is one assistant turn.
The rejected one is the first of a misled rollout that searches for the distractor's claim or answers with it; the
chosen one is the next turn, after the very same messages, of a rollout that met the distractor and never cited it.
The teacher's rollouts are taken, and the solver's over the overlay.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pipeline.agents.environment import Environment
from pipeline.encounters import encounters
from pipeline.types import Encounter, Message, Outcome, Record, Rollout
from pipeline.views.base import PREFERENCE, PROVENANCE, preference, under

SCHEMA = pa.schema([*PREFERENCE, ("distractor", pa.string()), ("step", pa.int32()), *PROVENANCE])
Met = tuple[Rollout, tuple[Encounter, ...]]
"""A rollout, and the distractors that it was shown."""


def rows(record: Record, environment: Environment) -> Iterator[dict[str, Any]]:
    seen = set()
    for met, prompt, chosen, rejected in (pair for among in _met(record) for pair in _pairs(among)):
        texts = under(environment, (*prompt, chosen, rejected))
        if texts and (*texts[-2:], len(texts)) not in seen:
            seen.add((*texts[-2:], len(texts)))
            learnt = preference(record, texts, environment.offered)
            yield {**learnt, "distractor": met.distractor, "step": met.step}


def _met(record: Record) -> Iterator[list[Met]]:
    """The rollouts among the question's distractors: the teacher's, and the solver's, which begin otherwise."""
    yield [(lesson.rollout, lesson.encounters) for lesson in record.lessons]
    tried = record.opposition
    if tried and record.draft:
        pairs = zip(tried.opposed, tried.opposed_verdicts, strict=True)
        yield [(r, encounters(record.draft, tried.used, r, correct=v.correct)) for r, v in pairs]


def _pairs(among: list[Met]) -> Iterator[tuple[Encounter, tuple[Message, ...], Message, Message]]:
    """What was met, the messages of the misled rollout up to its turn, the turn that resisted, and its own."""
    for rollout, found in among:
        misled = rollout.trajectory.messages
        for met in found:
            if met.outcome is Outcome.MISLED and met.cited_at is not None:
                prompt = misled[: met.cited_at]
                if turn := next((t for other in among if (t := _resisting(other, met, prompt))), None):
                    yield met, prompt, turn, misled[met.cited_at]


def _resisting(other: Met, met: Encounter, prompt: tuple[Message, ...]) -> Message | None:
    """What a rollout did after the same messages, if it resisted that distractor."""
    messages, found = other[0].trajectory.messages, other[1]
    same = any(e.distractor == met.distractor and e.outcome is Outcome.RESISTED for e in found)
    if not same or messages[: len(prompt)] != prompt or len(messages) <= len(prompt):
        return None
    turn = messages[len(prompt)]
    return turn if turn.role == "assistant" and turn.tool_calls else None
