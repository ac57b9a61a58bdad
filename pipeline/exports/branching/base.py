"""Interface of the branching methods, and a rollout as they see it: turns, each a state to sample from again."""

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from pipeline import registry
from pipeline.agents.grading import observations, shows_evidence
from pipeline.exports.trajectories import chat
from pipeline.text import normalise, words
from pipeline.types import Draft, Fork, GradedRollout, Message, Record, Rollout, ToolCall, Trajectory


class State(NamedTuple):
    """A rollout of the final question, and the number of its messages that lead to the state."""

    source: int
    prefix: int


class Method(NamedTuple):
    """A branching method, which is the only value of this type in its module."""

    states: Callable[[Record], Iterator[State]]
    """Yields the states to sample from, the most informative first."""
    attempts: int
    """Number of fresh samples from each state."""
    controls: bool = False
    """Whether the rollout's own next turn is continued with the same samples, if one of the fresh ones was correct."""


class ToolTurn(NamedTuple):
    """An assistant message that calls tools. `prefix` is the number of messages before it."""

    prefix: int
    message: Message


def load(name: str) -> Method:
    """Load a method. Raise UsageError with the known names if there is none of that name."""
    return registry.instance("branching", name, Method)


def by_sample(record: Record) -> dict[int, GradedRollout]:
    """Return the rollouts of the final question by sample: those of its round, then those of its confirmation."""
    return {graded.rollout.sample: graded for graded in sorted(record.graded, key=lambda graded: graded.rollout.sample)}


def turns(trajectory: Trajectory) -> list[ToolTurn]:
    return [ToolTurn(n, m) for n, m in enumerate(trajectory.messages) if m.role == "assistant" and m.tool_calls]


def select_forks(record: Record, method: str, source: int) -> list[Fork]:
    forks = [fork for fork in record.forks if fork.method == method and fork.source == source]
    return sorted(forks, key=lambda fork: fork.prefix)


def signature(message: Message) -> tuple[tuple[str, str], ...]:
    """Return what a turn does, regardless of its wording. Two turns with the same signature are one action."""
    return tuple((call.name, _normalise_arguments(call)) for call in chat.normalise_calls([message])[0].tool_calls)


def _normalise_arguments(call: ToolCall) -> str:
    return normalise(call.arguments) if call.name == "answer" else " ".join(words(call.arguments))


def is_idle(trajectory: Trajectory, turn: ToolTurn) -> bool:
    """Check whether the turn searches, and all its searches are repeats or could not be carried out."""
    useful = {call.id for call in trajectory.calls if not call.repeat}
    searches = [call for call in turn.message.tool_calls if call.name != "answer"]
    return bool(searches) and all(call.id not in useful for call in searches)


def evidence_before_turns(draft: Draft, rollout: Rollout) -> dict[int, frozenset[int]]:
    """Return for each turn, by its prefix, the hops whose evidence was shown before it."""
    by_id = {call.id: (call, text) for call, text in observations(rollout)}
    hops_seen: frozenset[int] = frozenset()
    before = {}
    for turn in turns(rollout.trajectory):
        before[turn.prefix] = hops_seen
        for call, text in (by_id[request.id] for request in turn.message.tool_calls if request.id in by_id):
            hops_seen |= {hop for hop in range(len(draft.hops)) if shows_evidence(draft, hop, call.passage_ids, text)}
    return before


def format_action(message: Message) -> str:
    """Return an action as text, one line per call: `search {"query":"..."}`. Rewards compare these texts."""
    return "\n".join(f"{call.name} {call.arguments}" for call in message.tool_calls)


def next_message(branch_messages: Sequence[Message], prefix: int) -> Message | None:
    return branch_messages[prefix] if len(branch_messages) > prefix else None
