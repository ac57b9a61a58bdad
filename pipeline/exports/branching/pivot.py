"""`pivot`: at which turns of a good rollout the solver may do either: where a group of samples teaches something.

PivotRL (arXiv 2603.21383, §3) keeps the turns at which samples of the reference policy differ in reward. Its reward
looks at the one turn: a search is as good as the rollout's own if it brings the evidence that the own one brought,
else if it shares three tenths of its words (the threshold of NeMo Gym's search verifier). Each sample goes on to its
end as well, so that the variance of the outcome is known beside that of the turn.
"""

from collections.abc import Iterator
from typing import NamedTuple

from pipeline.exports.branching.base import State, ToolTurn, first, forks, signature, turns
from pipeline.exports.trajectories.cleaning import demonstrations
from pipeline.text import words
from pipeline.types import Branch, Draft, Fork, GradedRollout, Message, Record, Trajectory

ATTEMPTS = 4
CONTROLS = False
ALIKE = 0.3


class Profile(NamedTuple):
    """Of one turn: so many samples, the share that did as well at the turn, the share that were correct in the end,
    and how far either varies."""

    tried: int
    turn_pass: float
    turn_variance: float
    outcome_pass: float
    outcome_variance: float


def states(record: Record) -> Iterator[State]:
    """Every turn of the best rollout."""
    if chosen := best(record):
        yield from (State(chosen.rollout.sample, turn.prefix) for turn in turns(chosen.rollout.trajectory))


def best(record: Record) -> GradedRollout | None:
    """The shortest correct rollout that is worth imitating."""
    return next(demonstrations(record), None)


def profiles(record: Record) -> dict[int, Profile]:
    """By the state's prefix, of the best rollout; empty where nobody asked."""
    chosen, draft = best(record), record.draft
    if chosen is None or draft is None:
        return {}
    trajectory = chosen.rollout.trajectory
    by_prefix = {turn.prefix: turn for turn in turns(trajectory)}
    asked = forks(record, "pivot", chosen.rollout.sample)
    return {f.prefix: _profile(draft, trajectory, by_prefix[f.prefix], f) for f in asked if f.prefix in by_prefix}


def _profile(draft: Draft, trajectory: Trajectory, turn: ToolTurn, fork: Fork) -> Profile:
    wanted = brought(draft, trajectory, turn.message, turn.prefix)
    passed = sum(_as_good(draft, wanted, turn.message, branch, fork.prefix) for branch in fork.branches)
    tried = len(fork.branches)
    alike, right = passed / tried, fork.solved / tried
    return Profile(tried, alike, alike * (1 - alike), right, right * (1 - right))


def brought(draft: Draft, trajectory: Trajectory, message: Message, prefix: int) -> set[str]:
    """The passages of the evidence that a turn was the first to show."""
    mine = {call.id for call in message.tool_calls}
    before = {m.tool_call_id for m in trajectory.messages[:prefix] if m.role == "tool"}
    seen = {i for call in trajectory.calls if call.id in before for i in call.passage_ids}
    shown = {i for call in trajectory.calls if call.id in mine for i in call.passage_ids}
    return (shown - seen) & {hop.passage_id for hop in draft.hops}


def _as_good(draft: Draft, wanted: set[str], own: Message, branch: Branch, prefix: int) -> bool:
    trajectory = branch.rollout.trajectory
    other = first(trajectory.messages, prefix)
    if other is None or not other.tool_calls:
        return False
    if "answer" in (own.tool_calls[0].name, other.tool_calls[0].name):
        return own.tool_calls[0].name == other.tool_calls[0].name and branch.verdict.right
    if wanted:
        return wanted <= brought(draft, trajectory, other, prefix)
    mine, its = ({word for _, gist in signature(m) for word in words(gist)} for m in (own, other))
    return len(mine & its) >= ALIKE * len(mine | its)
