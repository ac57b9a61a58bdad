"""What every method is, and how it sees a rollout: as turns, each a state that can be gone back to."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol, cast

from pipeline import registry
from pipeline.agents.grading import observations, shows
from pipeline.exports.trajectories import chat
from pipeline.text import normalise, words
from pipeline.types import Draft, Fork, GradedRollout, Message, Record, Rollout, ToolCall, Trajectory


class State(NamedTuple):
    """A rollout of the record's final question and the number of its messages that lead to the state."""

    source: int
    prefix: int


class Method(Protocol):
    """A module of this package."""

    ATTEMPTS: int
    """Fresh samples from each state."""
    CONTROLS: bool
    """Are the same samples also sent on from the rollout's own next turn, where one of the fresh ones was correct?"""

    def states(self, record: Record) -> Iterator[State]:
        """The states to ask about, the most telling first."""
        ...


class ToolTurn(NamedTuple):
    """An assistant message that calls tools; `prefix` messages stand before it."""

    prefix: int
    message: Message


def load(name: str) -> Method:
    """The method of that name; UsageError names the known ones."""
    return cast(Method, registry.load("branching", name))


def by_sample(record: Record) -> dict[int, GradedRollout]:
    """The rollouts of the final question: of its own round, then of its confirmation."""
    return {graded.rollout.sample: graded for graded in sorted(record.graded, key=lambda graded: graded.rollout.sample)}


def turns(trajectory: Trajectory) -> list[ToolTurn]:
    return [ToolTurn(n, m) for n, m in enumerate(trajectory.messages) if m.role == "assistant" and m.tool_calls]


def forks(record: Record, method: str, source: int) -> list[Fork]:
    """Those of one rollout, in the order of their states."""
    mine = [fork for fork in record.forks if fork.method == method and fork.source == source]
    return sorted(mine, key=lambda fork: fork.prefix)


def signature(message: Message) -> tuple[tuple[str, str], ...]:
    """What a turn does, apart from how it is put: two turns with one signature are one action."""
    return tuple((call.name, _gist(call)) for call in chat.spelt([message])[0].tool_calls)


def idle(trajectory: Trajectory, turn: ToolTurn) -> bool:
    """Did none of the turn's searches do anything new: made before, or not to be carried out?"""
    useful = {call.id for call in trajectory.calls if not call.repeat}
    asked = [call for call in turn.message.tool_calls if call.name != "answer"]
    return bool(asked) and all(call.id not in useful for call in asked)


def progress(draft: Draft, rollout: Rollout) -> dict[int, frozenset[int]]:
    """For each turn, by its prefix: the hops whose evidence had been shown before it."""
    trajectory = rollout.trajectory
    made = {call.id: (call, text) for call, text in observations(rollout)}
    known: frozenset[int] = frozenset()
    before = {}
    for turn in turns(trajectory):
        before[turn.prefix] = known
        for call, text in (made[asked.id] for asked in turn.message.tool_calls if asked.id in made):
            known |= {hop for hop in range(len(draft.hops)) if shows(draft, hop, call.passage_ids, text)}
    return before


def written(message: Message) -> str:
    """An action as text, for rewards that compare texts: `search {"query":"..."}`, a call a line."""
    return "\n".join(f"{call.name} {call.arguments}" for call in message.tool_calls)


def _gist(call: ToolCall) -> str:
    return normalise(call.arguments) if call.name == "answer" else " ".join(words(call.arguments))


def first(branch_messages: Sequence[Message], prefix: int) -> Message | None:
    """The turn that a branch took at the state; none where it could take none."""
    return branch_messages[prefix] if len(branch_messages) > prefix else None
