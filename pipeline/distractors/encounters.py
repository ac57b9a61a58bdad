"""How a rollout fared with the distractors that it was shown: pure functions of what is stored.

RAGShaper keeps trajectories by their answer alone and never asks whether a distractor was met, let alone resisted.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import orjson

from pipeline.agents.grading import observations
from pipeline.text import contains
from pipeline.types import Distractor, Draft, Encounter, Message, Outcome, Record, Rollout, ToolCall


class Among(NamedTuple):
    """A rollout among distractors, and those that it was shown."""

    rollout: Rollout
    encounters: tuple[Encounter, ...]


class Parting(NamedTuple):
    """What a rollout that was misled and one that resisted did after the same messages."""

    met: Encounter
    """Of the misled one."""
    prompt: tuple[Message, ...]
    resisting: Message
    misled: Message


def encounters(
    draft: Draft, distractors: Iterable[Distractor], rollout: Rollout, *, correct: bool
) -> tuple[Encounter, ...]:
    """One for each distractor that an observation held, in the order in which they were met."""
    found = [met for distractor in distractors if (met := _met(draft, distractor, rollout, correct=correct))]
    return tuple(sorted(found, key=lambda met: (met.step, met.distractor)))


def partings(record: Record) -> Iterator[Parting]:
    """Of the teacher's rollouts, and of the solver's over the overlay, which begin with another prompt."""
    yield from _partings([Among(lesson.rollout, lesson.encounters) for lesson in record.lessons])
    draft, tried = record.draft, record.opposition
    if draft and tried:
        pairs = zip(tried.opposed, tried.opposed_verdicts, strict=True)
        yield from _partings([Among(r, encounters(draft, tried.used, r, correct=v.correct)) for r, v in pairs])


def _partings(rollouts: Sequence[Among]) -> Iterator[Parting]:
    for rollout, found in rollouts:
        messages = rollout.trajectory.messages
        for met in found:
            if met.outcome is Outcome.MISLED and met.cited_at is not None:
                prompt = messages[: met.cited_at]
                turns = (_resisting(other, met, prompt) for other in rollouts)
                if turn := next(filter(None, turns), None):
                    yield Parting(met, prompt, turn, messages[met.cited_at])


def _resisting(other: Among, met: Encounter, prompt: tuple[Message, ...]) -> Message | None:
    """The tool calls of a rollout after the same messages, if it resisted that distractor."""
    messages = other.rollout.trajectory.messages
    same = any(e.distractor == met.distractor and e.outcome is Outcome.RESISTED for e in other.encounters)
    if not same or messages[: len(prompt)] != prompt or len(messages) <= len(prompt):
        return None
    turn = messages[len(prompt)]
    return turn if turn.role == "assistant" and turn.tool_calls else None


def _met(draft: Draft, distractor: Distractor, rollout: Rollout, *, correct: bool) -> Encounter | None:
    passage, step, met_at, disproved_at, read = distractor.passage, 0, 0, None, ""
    for call, text in observations(rollout):
        step += not call.repeat
        if not met_at and passage.id in call.passage_ids:
            met_at, read = step, call.id
        elif met_at and disproved_at is None and step > met_at:
            known = distractor.source_id in call.passage_ids
            disproved_at = step if known or _tells_the_truth(draft, distractor, text) else None
    if not met_at:
        return None
    cited_at = _cited(draft, distractor, rollout, read)
    outcomes = {
        (True, True): Outcome.RECOVERED,
        (True, False): Outcome.MISLED,
        (False, True): Outcome.RESISTED,
        (False, False): Outcome.MET,
    }
    return Encounter(
        distractor=distractor.id,
        step=met_at,
        cited_at=cited_at,
        disproved_at=disproved_at,
        outcome=outcomes[cited_at is not None, correct],
    )


def _tells_the_truth(draft: Draft, distractor: Distractor, observation: str) -> bool:
    """Does a passage other than the distractor name both the true answer to what it claims and what that is about?"""
    hop = draft.hops[distractor.end]
    subject = draft.hops[distractor.end - 1].answer if distractor.end else hop.title
    blocks = [block for block in observation.split("\n\n") if f"[{distractor.passage.shown_id}]" not in block]
    return any(contains(block, hop.answer) and contains(block, subject) for block in blocks)


def _cited(draft: Draft, distractor: Distractor, rollout: Rollout, read: str) -> int | None:
    """The first message after the meeting that searches for the claim or answers with it.

    Weighing a claim in thought is no citation, nor is a claim that the question or an earlier query names.
    """
    messages = rollout.trajectory.messages
    met = next(i for i, message in enumerate(messages) if message.tool_call_id == read)
    before = [draft.question, *(_said(call) for message in messages[:met] for call in message.tool_calls)]
    if any(contains(text, distractor.claim) for text in before):
        return None
    later = enumerate(messages[met + 1 :], met + 1)
    return next((i for i, message in later if _uses(message, distractor.claim)), None)


def _uses(message: Message, claim: str) -> bool:
    return any(contains(_said(call), claim) for call in message.tool_calls)


def _said(call: ToolCall) -> str:
    """The values of a call's arguments as text; the raw text where they are no JSON."""
    try:
        found = orjson.loads(call.arguments)
    except orjson.JSONDecodeError:
        return call.arguments
    return " | ".join(map(str, found.values())) if isinstance(found, dict) else str(found)
