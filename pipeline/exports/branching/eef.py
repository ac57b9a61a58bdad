"""`eef`: what is worth learning from a rollout that failed, and which of its turns are to be masked.

Exploring Expert Failures (arXiv 2504.13145): the policy is run from evenly spaced states of a failed rollout. Turns
that lead to a state from which the answer is still reached are kept, those that lose it are masked and not removed, and
the policy's own way on from the last such state is the rest. What is reached is relative to the solver and to a few
samples: the counts go with every row.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

from pipeline.exports.branching.base import State, ToolTurn, by_sample, forks, idle, turns
from pipeline.types import Branch, Fork, GradedRollout, Record, Stop, Trajectory

ATTEMPTS = 2
CONTROLS = False
MOST_STATES = 5
Label = Literal["beneficial", "recovery", "harmful", "lost", "idle", "own"]


class LabelledTurn(NamedTuple):
    """A turn of a spliced rollout. `solved` of `tried` samples reach the answer from the next state that was asked
    about, and for the branch's own turns from the state where it begins."""

    turn: ToolTurn
    label: Label
    solved: int
    tried: int

    @property
    def trained(self) -> bool:
        return self.label in ("beneficial", "recovery", "own")


class Spliced(NamedTuple):
    """The failed rollout up to its last state that is still solvable, then a branch that solved it."""

    fork: Fork
    trajectory: Trajectory
    turns: tuple[LabelledTurn, ...]


def states(record: Record) -> Iterator[State]:
    """Of every failed rollout its first state and others at equal distances."""
    for sample, graded in by_sample(record).items():
        if not graded.verdict.correct:
            made = turns(graded.rollout.trajectory)
            count = min(MOST_STATES, len(made))
            yield from (State(sample, made[n * len(made) // count].prefix) for n in range(count))


def spliced(record: Record) -> Iterator[Spliced]:
    """At most one for every failed rollout: none where it has no solvable state, where no branch is fit to learn from,
    and where its first state was not asked about, so that nobody knows what its first turns lost."""
    for sample, graded in by_sample(record).items():
        asked = forks(record, "eef", sample)
        first = turns(graded.rollout.trajectory)[:1]
        if [fork.prefix for fork in asked[:1]] != [turn.prefix for turn in first]:
            continue
        for fork in reversed(asked):
            if branch := next((b for b in fork.branches if b.verdict.correct and _fit(b, fork.prefix)), None):
                if fork.prefix > asked[0].prefix:
                    yield _spliced(graded, branch, [f for f in asked if f.prefix <= fork.prefix])
                break


def _spliced(graded: GradedRollout, branch: Branch, asked: Sequence[Fork]) -> Spliced:
    """`asked` are the forks up to the one that the branch starts from."""
    prefix = asked[-1].prefix
    labelled = []
    for turn in turns(branch.rollout.trajectory):
        if turn.prefix >= prefix:
            labelled.append(LabelledTurn(turn, "own", asked[-1].solved, len(asked[-1].branches)))
            continue
        before = max((f for f in asked if f.prefix <= turn.prefix), key=lambda f: f.prefix)
        after = min((f for f in asked if f.prefix > turn.prefix), key=lambda f: f.prefix)
        label = "idle" if idle(graded.rollout.trajectory, turn) else _label(before.solved, after.solved)
        labelled.append(LabelledTurn(turn, label, after.solved, len(after.branches)))
    return Spliced(asked[-1], branch.rollout.trajectory, tuple(labelled))


def _label(before: int, after: int) -> Label:
    if after:
        return "beneficial" if before else "recovery"
    return "harmful" if before else "lost"


def _fit(branch: Branch, prefix: int) -> bool:
    """Did it end on its own, without an idle turn of its own?"""
    trajectory = branch.rollout.trajectory
    own = [turn for turn in turns(trajectory) if turn.prefix >= prefix]
    return trajectory.stop is Stop.ANSWERED and not any(idle(trajectory, turn) for turn in own)
