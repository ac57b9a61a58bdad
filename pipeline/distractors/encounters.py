"""How a rollout fared with the distractors that it was shown: pure functions of what is stored.

RAGShaper keeps trajectories by their answer alone and never asks whether a distractor was met, let alone resisted.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import orjson

from pipeline.agents.grading import observations, shows
from pipeline.text.names import contains
from pipeline.types import (
    Distractor,
    Draft,
    Encounter,
    Message,
    Outcome,
    PolicyMeasurement,
    Record,
    Rollout,
    ToolCall,
    Verdict,
)
from pipeline.types.assessment import WITH_DISTRACTORS

Met = tuple[Rollout, tuple[Encounter, ...]]
"""A rollout among distractors, and those that it was shown."""


class MisledTurn(NamedTuple):
    """What a rollout that was misled and one that resisted did after the same messages."""

    met: Encounter
    """The misled rollout's."""
    prompt: tuple[Message, ...]
    resisting: Message
    misled: Message
    agent: str
    measured: PolicyMeasurement | None = None
    """What a policy's rollouts are part of."""


class Arms(NamedTuple):
    """Pairs of rollouts of one model on one question: of the same sample, without and with the distractors."""

    pairs: tuple[tuple[Verdict, Rollout, Verdict], ...]
    """The verdict without them; the rollout with them and its verdict."""
    measured: PolicyMeasurement | None = None
    """What a policy's are part of."""


def encounters(
    draft: Draft, distractors: Iterable[Distractor], rollout: Rollout, *, correct: bool
) -> tuple[Encounter, ...]:
    """One for each distractor that an observation held, in the order in which they were met."""
    found = [met for distractor in distractors if (met := _met(draft, distractor, rollout, correct=correct))]
    return tuple(sorted(found, key=lambda met: (met.step, met.distractor)))


def arms(record: Record) -> dict[str, Arms]:
    """The rollouts of a pair without and with its distractors: the solver's under no name, then each policy's under
    its own."""
    tried = record.distractor_eval
    if tried is None:
        return {}
    verdicts = tried.without_distractors_verdicts, tried.with_distractors_verdicts
    found = {"": Arms(tuple(zip(verdicts[0], tried.with_distractors, verdicts[1], strict=True)))}
    for among in record.measurements:
        policy = among.policy.removesuffix(WITH_DISTRACTORS)
        alone = next((one for one in record.measurements if one.policy == policy and not one.order), None)
        if among.policy != policy and alone:
            known = {r.sample: v for r, v in zip(alone.rollouts, alone.verdicts, strict=True)}
            pairs = [(known.get(r.sample), r, v) for r, v in zip(among.rollouts, among.verdicts, strict=True)]
            found[policy] = Arms(tuple((without, r, v) for without, r, v in pairs if without), among)
    return found


def contrasts(record: Record, policy: str = "") -> Iterator[MisledTurn]:
    """Among the teacher's rollouts, and among those over the overlay, which begin with another prompt: the solver's,
    and those of the policy of that name."""
    yield from _contrasts("teacher", [(made.rollout, made.encounters) for made in record.teacher_rollouts])
    draft, tried = record.draft, record.distractor_eval
    if draft and tried:
        pairs = zip(tried.with_distractors, tried.with_distractors_verdicts, strict=True)
        yield from _contrasts("solver", [(r, encounters(draft, tried.used, r, correct=v.correct)) for r, v in pairs])
        if policy and (arm := arms(record).get(policy)):
            group = [(r, encounters(draft, tried.used, r, correct=v.correct)) for _, r, v in arm.pairs]
            yield from _contrasts("policy", group, arm.measured)


def _contrasts(agent: str, group: Sequence[Met], measured: PolicyMeasurement | None = None) -> Iterator[MisledTurn]:
    for rollout, found in group:
        messages = rollout.trajectory.messages
        for met in found:
            if met.outcome is Outcome.MISLED and met.cited_at is not None:
                prompt = messages[: met.cited_at]
                turns = (_resisting(other, met, prompt) for other in group)
                if turn := next(filter(None, turns), None):
                    yield MisledTurn(met, prompt, turn, messages[met.cited_at], agent, measured)


def _resisting(other: Met, met: Encounter, prompt: tuple[Message, ...]) -> Message | None:
    """The tool calls of a rollout after the same messages, if it resisted that distractor."""
    rollout, found = other
    messages, begun = rollout.trajectory.messages, len(prompt)
    resisted = any(e.distractor == met.distractor and e.outcome is Outcome.RESISTED for e in found)
    if not resisted or messages[:begun] != prompt:
        return None
    return next((turn for turn in messages[begun : begun + 1] if turn.role == "assistant" and turn.tool_calls), None)


def _met(draft: Draft, distractor: Distractor, rollout: Rollout, *, correct: bool) -> Encounter | None:
    passage, step, met_at, disproved_at, read = distractor.passage, 0, 0, None, ""
    for call, text in observations(rollout):
        step += not call.repeat
        if not met_at and passage.id in call.passage_ids:
            met_at, read = step, call.id
        elif met_at and disproved_at is None and step > met_at:
            known = draft.hops[distractor.hop].passage_id in call.passage_ids
            disproved_at = step if known or _corrects(draft, distractor, text) else None
    if not met_at:
        return None
    cited_at = _cited(draft, distractor, rollout, read)
    wrong, right = (Outcome.MET, Outcome.RESISTED) if cited_at is None else (Outcome.MISLED, Outcome.RECOVERED)
    at = {"step": met_at, "cited_at": cited_at, "disproved_at": disproved_at}
    return Encounter(distractor=distractor.id, outcome=right if correct else wrong, **at)


def _corrects(draft: Draft, distractor: Distractor, observation: str) -> bool:
    """Does a passage other than the distractor name both the true answer to what it claims and what that is about?"""
    shown = f"[{distractor.passage.shown_id}]"
    others = "\n\n".join(block for block in observation.split("\n\n") if shown not in block)
    return shows(draft, distractor.target, (), others)


def _cited(draft: Draft, distractor: Distractor, rollout: Rollout, read: str) -> int | None:
    """The first message after the meeting that searches for the claim or answers with it.

    Weighing a claim in thought is no citation, nor is a claim that the question or an earlier query names.
    """
    messages = rollout.trajectory.messages
    met = next(i for i, message in enumerate(messages) if message.tool_call_id == read)
    before = [draft.question, *(_arguments(call) for message in messages[:met] for call in message.tool_calls)]
    if any(contains(text, distractor.claim) for text in before):
        return None
    later = enumerate(messages[met + 1 :], met + 1)
    return next((i for i, m in later if any(contains(_arguments(c), distractor.claim) for c in m.tool_calls)), None)


def _arguments(call: ToolCall) -> str:
    """The values of a call's arguments as text; the raw text where they are no JSON."""
    try:
        found = orjson.loads(call.arguments)
    except orjson.JSONDecodeError:
        return call.arguments
    return " | ".join(map(str, found.values())) if isinstance(found, dict) else str(found)
