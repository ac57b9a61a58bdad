"""`cso`: the step at which a failed rollout went wrong, and a turn that corrects it.

Critical Step Optimization (arXiv 2602.03412, §3) proposes alternatives at suspicious states of failed rollouts. An
alternative counts only if the same solver then reaches the right answer. Fresh samples of the solver and free filters
replace the paper's expert and process reward model. One thing is added: the rollout's own turn is continued with the
same samples, because a failure that any second attempt avoids says nothing about the turn.
"""

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from pipeline.agents.grading import observations, shows_evidence
from pipeline.exports.branching import base
from pipeline.types import Branch, Draft, Fork, GradedRollout, Message, Record

SUSPECTS = 3
"""Maximum number of states per rollout."""


class TurnPair(NamedTuple):
    """Two alternative turns of one state, each with its number of successes and of samples that took it."""

    fork: Fork
    prompt: tuple[Message, ...]
    chosen: Message
    rejected: Message
    chosen_solved: int
    chosen_tried: int
    rejected_solved: int
    rejected_tried: int


def states(record: Record) -> Iterator[base.State]:
    """Yield up to SUSPECTS states of each failed rollout.

    They are the turn after the last new evidence, the last turn, and idle turns.
    """
    draft = record.draft
    if draft is None:
        return
    for sample, graded in base.by_sample(record).items():
        if not graded.verdict.correct:
            suspects = dict.fromkeys(turn.prefix for turn in _find_suspects(draft, graded))
            yield from (base.State(sample, prefix) for prefix in list(suspects)[:SUSPECTS])


def _find_suspects(draft: Draft, graded: GradedRollout) -> Iterator[base.ToolTurn]:
    trajectory = graded.rollout.trajectory
    tool_turns = base.turns(trajectory)
    if not tool_turns:
        return
    with_evidence = {
        call.id
        for call, text in observations(graded.rollout)
        if any(shows_evidence(draft, hop, call.passage_ids, text) for hop in range(len(draft.hops)))
    }
    indexes = [n for n, turn in enumerate(tool_turns) if with_evidence & {call.id for call in turn.message.tool_calls}]
    stuck = max(indexes, default=-1) + 1
    yield from tool_turns[stuck : stuck + 1]
    yield tool_turns[-1]
    yield from (turn for turn in tool_turns if base.is_idle(trajectory, turn))


def pairs(record: Record) -> Iterator[TurnPair]:
    """Yield the verified pairs: the chosen turn led to the right answer more often than the rejected one."""
    for sample, graded in base.by_sample(record).items():
        for fork in base.select_forks(record, "cso", sample):
            messages = graded.rollout.trajectory.messages
            yield from _pairs_of_fork(fork, messages[: fork.prefix], messages[fork.prefix])


def _pairs_of_fork(fork: Fork, prompt: tuple[Message, ...], rejected: Message) -> Iterator[TurnPair]:
    groups: dict[object, list[Branch]] = defaultdict(list)
    for branch in fork.branches:
        turn = base.next_message(branch.rollout.trajectory.messages, fork.prefix)
        if turn is not None and turn.tool_calls:
            groups[base.signature(turn)].append(branch)
    same_turn = [*fork.controls, *groups.pop(base.signature(rejected), [])]
    rejected_solved, rejected_tried = sum(branch.verdict.correct for branch in same_turn), len(same_turn)
    for group in groups.values():
        solved = sum(branch.verdict.correct for branch in group)
        trajectory = group[0].rollout.trajectory
        chosen = trajectory.messages[fork.prefix]
        # An idle turn, such as an unreadable call, must not be learnt because of the turns after it.
        is_useful = not base.is_idle(trajectory, base.ToolTurn(fork.prefix, chosen))
        if is_useful and rejected_tried and solved / len(group) > rejected_solved / rejected_tried:
            yield TurnPair(fork, prompt, chosen, rejected, solved, len(group), rejected_solved, rejected_tried)


METHOD = base.Method(states, attempts=3, controls=True)
