"""`cso`: the step at which a failed rollout went wrong, and a turn that puts it right.

Critical Step Optimization (arXiv 2602.03412, §3): alternatives are proposed at suspicious states of failed rollouts,
and only those count from which the same solver then reaches the right answer. In place of the paper's expert and
process reward model there are fresh samples of the solver and screens that cost nothing. One thing is added: the
rollout's own turn is continued with the same samples, since a failure that any second try avoids says nothing of it.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from pipeline.agents.grading import observations, shows
from pipeline.exports.branching.base import State, ToolTurn, by_sample, first, forks, idle, signature, turns
from pipeline.types import Branch, Draft, Fork, GradedRollout, Message, Record

ATTEMPTS = 3
CONTROLS = True
SUSPECTS = 3
"""States asked about in one rollout, at most."""


class TurnPair(NamedTuple):
    """Two next turns of one state. Successes are counted over the samples that took the turn."""

    fork: Fork
    prompt: tuple[Message, ...]
    chosen: Message
    rejected: Message
    chosen_solved: int
    chosen_tried: int
    rejected_solved: int
    rejected_tried: int


def states(record: Record) -> Iterator[State]:
    """Of every failed rollout the turn after which no evidence came any more, the last, and the first that is idle."""
    draft = record.draft
    if draft is None:
        return
    for sample, graded in by_sample(record).items():
        if not graded.verdict.correct:
            suspects = dict.fromkeys(turn.prefix for turn in _suspects(draft, graded))
            yield from (State(sample, prefix) for prefix in list(suspects)[:SUSPECTS])


def _suspects(draft: Draft, graded: GradedRollout) -> Iterator[ToolTurn]:
    trajectory = graded.rollout.trajectory
    made = turns(trajectory)
    if not made:
        return
    telling = {
        call.id
        for call, text in observations(graded.rollout)
        if any(shows(draft, hop, call.passage_ids, text) for hop in range(len(draft.hops)))
    }
    found = [n for n, turn in enumerate(made) if telling & {call.id for call in turn.message.tool_calls}]
    stuck = max(found, default=-1) + 1
    yield from made[stuck : stuck + 1]
    yield made[-1]
    yield from (turn for turn in made if idle(trajectory, turn))


def pairs(record: Record) -> Iterator[TurnPair]:
    """The verified pairs: the chosen turn led to the right answer, and more often than the rejected one did."""
    for sample, graded in by_sample(record).items():
        for fork in forks(record, "cso", sample):
            messages = graded.rollout.trajectory.messages
            yield from _of_fork(fork, messages[: fork.prefix], messages[fork.prefix])


def _of_fork(fork: Fork, prompt: tuple[Message, ...], rejected: Message) -> Iterator[TurnPair]:
    groups: dict[object, list[Branch]] = defaultdict(list)
    for branch in fork.branches:
        turn = first(branch.rollout.trajectory.messages, fork.prefix)
        if turn is not None and turn.tool_calls:
            groups[signature(turn)].append(branch)
    own = [*fork.controls, *groups.pop(signature(rejected), [])]
    failed, tried = sum(branch.verdict.correct for branch in own), len(own)
    for group in groups.values():
        solved = sum(branch.verdict.correct for branch in group)
        way = group[0].rollout.trajectory
        chosen = way.messages[fork.prefix]
        # A turn that did nothing, such as a call that could not be read, is not to be learnt for what came after it.
        if tried and solved / len(group) > failed / tried and not idle(way, ToolTurn(fork.prefix, chosen)):
            yield TurnPair(fork, prompt, chosen, rejected, solved, len(group), failed, tried)
