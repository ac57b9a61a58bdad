"""How rollouts react to the distractors that they see: pure functions of stored records.

RAGShaper selects trajectories by their answer alone, and does not check whether they saw a distractor or resisted it.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import orjson

from pipeline.agents.grading import observations, shows_evidence
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

RolloutEncounters = tuple[Rollout, tuple[Encounter, ...]]
"""A rollout among distractors, with the distractors that it saw."""


class MisledTurn(NamedTuple):
    """The next turns of a misled rollout and of one that resisted, after the same messages."""

    encounter: Encounter
    """The encounter of the misled rollout."""
    prompt: tuple[Message, ...]
    resisting: Message
    misled: Message
    agent: str
    measured: PolicyMeasurement | None = None
    """The measurement that a policy's rollouts belong to."""


class Arms(NamedTuple):
    """Pairs of rollouts of one model on one question, without and with distractors, of the same sample."""

    pairs: tuple[tuple[Verdict, Rollout, Verdict], ...]
    """The verdict without distractors, the rollout with distractors, and its verdict."""
    measured: PolicyMeasurement | None = None
    """The measurement that a policy's rollouts belong to."""


def encounters(
    draft: Draft, distractors: Iterable[Distractor], rollout: Rollout, *, correct: bool
) -> tuple[Encounter, ...]:
    """Return an encounter for each distractor that an observation contained, in the order of the steps."""
    found_encounters = (_find_encounter(draft, distractor, rollout, correct=correct) for distractor in distractors)
    return tuple(sorted(filter(None, found_encounters), key=lambda encounter: (encounter.step, encounter.distractor)))


def arms(record: Record) -> dict[str, Arms]:
    """Return pairs of rollouts without and with distractors, by policy; the solver's have the empty name."""
    evaluation = record.distractor_eval
    if evaluation is None:
        return {}
    verdicts = evaluation.without_distractors_verdicts, evaluation.with_distractors_verdicts
    arms_by_policy = {"": Arms(tuple(zip(verdicts[0], evaluation.with_distractors, verdicts[1], strict=True)))}
    for among in record.measurements:
        policy = among.policy.removesuffix(WITH_DISTRACTORS)
        alone = next((m for m in record.measurements if m.policy == policy and not m.order), None)
        if among.policy != policy and alone:
            verdicts_alone = {r.sample: v for r, v in alone.graded}
            pairs = [(verdicts_alone.get(r.sample), r, v) for r, v in among.graded]
            arms_by_policy[policy] = Arms(tuple((without, r, v) for without, r, v in pairs if without), among)
    return arms_by_policy


def contrasts(record: Record, policy: str = "") -> Iterator[MisledTurn]:
    """Yield contrasts among the teacher's rollouts, the solver's, and those of the policy of that name.

    They begin with different prompts, so that each group is compared on its own.
    """
    yield from _find_contrasts("teacher", [(taught.rollout, taught.encounters) for taught in record.teacher_rollouts])
    draft, evaluation = record.draft, record.distractor_eval
    if draft and evaluation:
        used = evaluation.used
        pairs = zip(evaluation.with_distractors, evaluation.with_distractors_verdicts, strict=True)
        yield from _find_contrasts("solver", [(r, encounters(draft, used, r, correct=v.correct)) for r, v in pairs])
        if policy and (arm := arms(record).get(policy)):
            group = [(r, encounters(draft, used, r, correct=v.correct)) for _, r, v in arm.pairs]
            yield from _find_contrasts("policy", group, arm.measured)


def _find_contrasts(
    agent: str, group: Sequence[RolloutEncounters], measured: PolicyMeasurement | None = None
) -> Iterator[MisledTurn]:
    for rollout, rollout_encounters in group:
        messages = rollout.trajectory.messages
        for encounter in rollout_encounters:
            if encounter.outcome is Outcome.MISLED and encounter.cited_at is not None:
                prompt = messages[: encounter.cited_at]
                turns = (_resisting_turn(candidate, encounter, prompt) for candidate in group)
                if turn := next(filter(None, turns), None):
                    yield MisledTurn(encounter, prompt, turn, messages[encounter.cited_at], agent, measured)


def _resisting_turn(candidate: RolloutEncounters, encounter: Encounter, prompt: tuple[Message, ...]) -> Message | None:
    """Return the tool calls of a rollout after the same messages, if it resisted the distractor."""
    rollout, rollout_encounters = candidate
    messages, length = rollout.trajectory.messages, len(prompt)
    resisted = any(e.distractor == encounter.distractor and e.outcome is Outcome.RESISTED for e in rollout_encounters)
    if not resisted or messages[:length] != prompt:
        return None
    return next((turn for turn in messages[length : length + 1] if turn.role == "assistant" and turn.tool_calls), None)


def _find_encounter(draft: Draft, distractor: Distractor, rollout: Rollout, *, correct: bool) -> Encounter | None:
    passage, step, met_at, disproved_at, met_call_id = distractor.passage, 0, 0, None, ""
    for call, text in observations(rollout):
        step += not call.repeat
        if not met_at and passage.id in call.passage_ids:
            met_at, met_call_id = step, call.id
        elif met_at and disproved_at is None and step > met_at:
            shows_evidence = draft.hops[distractor.hop].passage_id in call.passage_ids
            disproved_at = step if shows_evidence or _corrects(draft, distractor, text) else None
    if not met_at:
        return None
    cited_at = _find_citation(draft, distractor, rollout, met_call_id)
    wrong, right = (Outcome.MET, Outcome.RESISTED) if cited_at is None else (Outcome.MISLED, Outcome.RECOVERED)
    at = {"step": met_at, "cited_at": cited_at, "disproved_at": disproved_at}
    return Encounter(distractor=distractor.id, outcome=right if correct else wrong, **at)


def _corrects(draft: Draft, distractor: Distractor, observation: str) -> bool:
    """Return whether another passage names both the true answer to the claim's question and its subject."""
    shown_id = f"[{distractor.passage.shown_id}]"
    other_passages = "\n\n".join(block for block in observation.split("\n\n") if shown_id not in block)
    return shows_evidence(draft, distractor.target, (), other_passages)


def _find_citation(draft: Draft, distractor: Distractor, rollout: Rollout, met_call_id: str) -> int | None:
    """Return the index of the first message after the encounter that searches for the claim or answers with it.

    Thinking about a claim is not a citation, nor is a claim that the question or an earlier query names.
    """
    messages = rollout.trajectory.messages
    met_index = next(i for i, message in enumerate(messages) if message.tool_call_id == met_call_id)
    before = [draft.question, *(_arguments(call) for message in messages[:met_index] for call in message.tool_calls)]
    if any(contains(text, distractor.claim) for text in before):
        return None
    later = enumerate(messages[met_index + 1 :], met_index + 1)
    return next((i for i, m in later if any(contains(_arguments(c), distractor.claim) for c in m.tool_calls)), None)


def _arguments(call: ToolCall) -> str:
    try:
        arguments = orjson.loads(call.arguments)
    except orjson.JSONDecodeError:
        return call.arguments
    return " | ".join(map(str, arguments.values())) if isinstance(arguments, dict) else str(arguments)
