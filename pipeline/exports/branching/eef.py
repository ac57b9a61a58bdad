"""`eef`: what is worth learning from a failed rollout, and which of its turns to mask.

Exploring Expert Failures (arXiv 2504.13145) samples the policy from evenly spaced states of a failed rollout. Turns
that lead to a state from which the answer is still reached are kept. Turns that lose it are masked, not removed. After
the last solvable state comes a branch that solved it. What can be reached depends on the solver and on few samples,
so every row holds the counts.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from pipeline.exports.branching.base import Method, State, ToolTurn, by_sample, is_idle, select_forks, turns
from pipeline.types import Branch, Fork, GradedRollout, Record, Stop, Trajectory

MOST_STATES = 5
Label = Literal["beneficial", "recovery", "harmful", "lost", "idle", "own"]


class LabelledTurn(NamedTuple):
    """A turn of a spliced rollout.

    `solved` of `tried` samples reach the answer from the next sampled state. For turns of the branch, they start from
    the state where the branch begins.
    """

    turn: ToolTurn
    label: Label
    solved: int
    tried: int

    @property
    def trained(self) -> bool:
        return self.label in ("beneficial", "recovery", "own")


class Spliced(NamedTuple):
    """A failed rollout up to its last solvable state, followed by a branch that solved it."""

    fork: Fork
    trajectory: Trajectory
    turns: tuple[LabelledTurn, ...]


def states(record: Record) -> Iterator[State]:
    """Yield evenly spaced states of each failed rollout, from its first on."""
    for sample, graded in by_sample(record).items():
        if not graded.verdict.correct:
            tool_turns = turns(graded.rollout.trajectory)
            count = min(MOST_STATES, len(tool_turns))
            yield from (State(sample, tool_turns[n * len(tool_turns) // count].prefix) for n in range(count))


def splice_rollouts(record: Record) -> Iterator[Spliced]:
    """Yield at most one spliced rollout per failed rollout.

    A rollout gives none if no state has a correct branch that ends in an answer and has no idle turns. It gives none
    either if its first state was not sampled: it is then unknown what the first turns lost.
    """
    for sample, graded in by_sample(record).items():
        forks = select_forks(record, "eef", sample)
        first_turns = turns(graded.rollout.trajectory)[:1]
        if [fork.prefix for fork in forks[:1]] != [turn.prefix for turn in first_turns]:
            continue
        for fork in reversed(forks):
            right = (branch for branch in fork.branches if branch.verdict.correct)
            if branch := next((b for b in right if _answers_without_idle_turns(b, fork.prefix)), None):
                if fork.prefix > forks[0].prefix:
                    yield _splice(graded, branch, [f for f in forks if f.prefix <= fork.prefix])
                break


def _splice(graded: GradedRollout, branch: Branch, forks: Sequence[Fork]) -> Spliced:
    start = forks[-1]
    labelled = []
    for turn in turns(branch.rollout.trajectory):
        if turn.prefix >= start.prefix:
            labelled.append(LabelledTurn(turn, "own", start.solved, len(start.branches)))
            continue
        before = max((f for f in forks if f.prefix <= turn.prefix), key=lambda f: f.prefix)
        after = min((f for f in forks if f.prefix > turn.prefix), key=lambda f: f.prefix)
        label = "idle" if is_idle(graded.rollout.trajectory, turn) else _label_turn(before.solved, after.solved)
        labelled.append(LabelledTurn(turn, label, after.solved, len(after.branches)))
    return Spliced(start, branch.rollout.trajectory, tuple(labelled))


def _label_turn(before: int, after: int) -> Label:
    if after:
        return "beneficial" if before else "recovery"
    return "harmful" if before else "lost"


def _answers_without_idle_turns(branch: Branch, prefix: int) -> bool:
    trajectory = branch.rollout.trajectory
    branch_turns = [turn for turn in turns(trajectory) if turn.prefix >= prefix]
    return trajectory.stop is Stop.ANSWERED and not any(is_idle(trajectory, turn) for turn in branch_turns)


METHOD = Method(states, attempts=2)
