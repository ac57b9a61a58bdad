"""`pivot`: the turns of a good rollout at which samples of the solver differ, so that a group of them has a gradient.

PivotRL (arXiv 2603.21383, §3) keeps the turns at which samples of the reference policy differ in reward. The reward is
of the single turn: a search is as good as the rollout's if it retrieves the same new evidence. If that search retrieved
none, it must share three tenths of its words (the threshold of NeMo Gym's search verifier). Each sample also runs to
its end, so that the variance of the outcome is known as well.
"""

from collections.abc import Iterator
from typing import NamedTuple

from pipeline.exports.branching.base import Method, State, ToolTurn, next_message, select_forks, signature, turns
from pipeline.exports.trajectories.cleaning import demonstrations
from pipeline.text import words
from pipeline.types import Branch, Draft, Fork, GradedRollout, Message, Record, Trajectory

ALIKE = 0.3


class Profile(NamedTuple):
    """Statistics of the samples from one turn.

    `turn_pass` is the share that did as well at the turn, `outcome_pass` the share that were correct in the end.
    """

    tried: int
    turn_pass: float
    turn_variance: float
    outcome_pass: float
    outcome_variance: float


def states(record: Record) -> Iterator[State]:
    """Yield every turn of the best rollout."""
    if best := best_rollout(record):
        yield from (State(best.rollout.sample, turn.prefix) for turn in turns(best.rollout.trajectory))


def best_rollout(record: Record) -> GradedRollout | None:
    return next(demonstrations(record), None)


def profiles(record: Record) -> dict[int, Profile]:
    """Return the profiles of the sampled turns of the best rollout, by the prefix of the state."""
    best, draft = best_rollout(record), record.draft
    if best is None or draft is None:
        return {}
    trajectory = best.rollout.trajectory
    by_prefix = {turn.prefix: turn for turn in turns(trajectory)}
    forks = select_forks(record, "pivot", best.rollout.sample)
    return {f.prefix: _profile(draft, trajectory, by_prefix[f.prefix], f) for f in forks if f.prefix in by_prefix}


def _profile(draft: Draft, trajectory: Trajectory, turn: ToolTurn, fork: Fork) -> Profile:
    evidence = new_evidence(draft, trajectory, turn.message, turn.prefix)
    passed = sum(_is_as_good(draft, evidence, turn.message, branch, fork.prefix) for branch in fork.branches)
    tried = len(fork.branches)
    turn_pass, outcome_pass = passed / tried, fork.solved / tried
    return Profile(tried, turn_pass, turn_pass * (1 - turn_pass), outcome_pass, outcome_pass * (1 - outcome_pass))


def new_evidence(draft: Draft, trajectory: Trajectory, message: Message, prefix: int) -> set[str]:
    call_ids = {call.id for call in message.tool_calls}
    earlier_ids = {m.tool_call_id for m in trajectory.messages[:prefix] if m.role == "tool"}
    before = {i for call in trajectory.calls if call.id in earlier_ids for i in call.passage_ids}
    shown_now = {i for call in trajectory.calls if call.id in call_ids for i in call.passage_ids}
    return (shown_now - before) & {hop.passage_id for hop in draft.hops}


def _is_as_good(draft: Draft, evidence: set[str], target: Message, branch: Branch, prefix: int) -> bool:
    """Check whether the first turn of the branch is as good as the target turn, which first showed `evidence`."""
    trajectory = branch.rollout.trajectory
    turn = next_message(trajectory.messages, prefix)
    if turn is None or not turn.tool_calls:
        return False
    if "answer" in (target.tool_calls[0].name, turn.tool_calls[0].name):
        return target.tool_calls[0].name == turn.tool_calls[0].name and branch.verdict.right
    if evidence:
        return evidence <= new_evidence(draft, trajectory, turn, prefix)
    target_words, turn_words = (
        {word for _, arguments in signature(message) for word in words(arguments)} for message in (target, turn)
    )
    return len(target_words & turn_words) >= ALIKE * len(target_words | turn_words)


METHOD = Method(states, attempts=4)
