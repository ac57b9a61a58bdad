"""A record as pages show it: every call with its results, and the hops whose evidence they are."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pipeline.agents.answers import list_items
from pipeline.agents.tools import ShownPassage, all_shown, shown_passages
from pipeline.analysis.rollout_metrics import RolloutMetrics, measure_rollout
from pipeline.config.loop import way_of
from pipeline.types import Draft, Encounter, Node, Record, Rollout, Round, Trajectory, Tree, Verdict, shown_id

SNIPPET = 220


class Result(NamedTuple):
    """A passage of an observation. `hops` are the numbers, from 1, of the hops whose evidence it is."""

    id: str
    title: str
    snippet: str
    hops: tuple[int, ...]


class Step(NamedTuple):
    """A tool call. `number` counts steps from 1; it is 0 for a repeat or a call that was not carried out."""

    number: int
    tool: str
    argument: str
    thought: str
    results: tuple[Result, ...]
    note: str
    """The observation, if it holds no passage."""
    repaired: bool = False

    @property
    def hops(self) -> tuple[int, ...]:
        return tuple(sorted({hop for result in self.results for hop in result.hops}))


class RolloutTrace(NamedTuple):
    rollout: Rollout
    verdict: Verdict
    steps: tuple[Step, ...]
    process: RolloutMetrics | None
    met: tuple[Encounter, ...] = ()
    """The distractors that it met, if it ran with distractors."""


class RoundTrace(NamedTuple):
    """A round, with the draft before it, to show what changed."""

    round: Round
    before: Draft | None
    agent: tuple[Step, ...]
    attempts: tuple[RolloutTrace, ...]
    policy: tuple[RolloutTrace, ...]
    """The rollouts of the policy that the pairs are for."""


class Item(NamedTuple):
    record: Record
    parts: tuple[RoundTrace, ...]
    confirmation: tuple[RolloutTrace, ...]
    seekers: tuple[tuple[str, RolloutTrace], ...]
    """Each with its way of seeking."""
    passages: tuple[ShownPassage, ...]
    """All passages that any agent saw, sorted by title."""
    answers: tuple[str, ...]
    """The spellings of the answer, to highlight in texts."""


class TreeBranch(NamedTuple):
    """A part of an information tree without a fork, and the branches at its end."""

    nodes: tuple[tuple[bool, Node], ...]
    """Each node, with whether the question was composed from it."""
    limbs: tuple["TreeBranch", ...]


class TreeLayout(NamedTuple):
    draft: Draft
    tree: Tree
    limb: TreeBranch


def lay_out_tree(record: Record) -> TreeLayout | None:
    tree = next((past.tree for past in record.rounds if past.tree), None)
    return TreeLayout(record.draft, tree, limb(tree, 0)) if tree and record.draft else None


def limb(tree: Tree, index: int) -> TreeBranch:
    composed = tree.path(tree.composed) if tree.composed is not None else ()
    nodes, children = [], [index]
    while len(children) == 1:
        node = tree.nodes[children[0]]
        nodes.append((node in composed, node))
        children = [child for child, candidate in enumerate(tree.nodes) if candidate.parent == children[0]]
    return TreeBranch(tuple(nodes), tuple(limb(tree, child) for child in children))


def build_item(record: Record) -> Item:
    parts, before = [], None
    for past in record.rounds:
        parts.append(
            RoundTrace(
                round=past,
                before=before,
                agent=steps(past.agent, past.draft),
                attempts=attempts(past.rollouts, past.verdicts, past.draft),
                policy=attempts(past.policy_rollouts, past.policy_verdicts, past.draft),
            )
        )
        before = past.draft or before
    draft = record.draft or before
    answers = (draft.answer, *draft.answer_aliases, *_item_spellings(draft)) if draft else ()
    trajectories = [past.agent for past in record.rounds]
    rollouts = [rollout for past in record.rounds for rollout in (*past.rollouts, *past.policy_rollouts)]
    trajectories += [rollout.trajectory for rollout in (*rollouts, *record.confirmation, *record.seekers)]
    return Item(
        record=record,
        parts=tuple(parts),
        confirmation=attempts(record.confirmation, record.confirmation_verdicts, draft),
        seekers=tuple(
            (way_of(trace.rollout.sample), trace) for trace in attempts(record.seekers, record.seeker_verdicts, draft)
        ),
        passages=by_title(all_shown(trajectories)),
        answers=tuple(answer for answer in answers if answer),
    )


def _item_spellings(draft: Draft) -> list[str]:
    return [name for item in list_items(draft) for name in item.spellings]


def steps(trajectory: Trajectory, draft: Draft | None) -> tuple[Step, ...]:
    """Return the calls of an agent in order, without its final one, which has no observation."""
    observations = {message.tool_call_id: message.content for message in trajectory.messages if message.tool_call_id}
    calls = {call.id: call for call in trajectory.calls}
    steps, number = [], 0
    for message in trajectory.messages:
        thought = message.reasoning or message.content
        for request in message.tool_calls:
            if request.id not in observations:
                continue
            call = calls.get(request.id)
            number += call is not None and not call.repeat
            results = _list_results(observations[request.id], draft)
            steps.append(
                Step(
                    number=number if call and not call.repeat else 0,
                    tool=call.tool if call else request.name,
                    argument=call.argument if call else request.arguments,
                    thought=thought,
                    results=results,
                    note="" if results else observations[request.id],
                    repaired=request.repaired,
                )
            )
            thought = ""
    return tuple(steps)


def attempts(rollouts: Sequence[Rollout], verdicts: Sequence[Verdict], draft: Draft | None) -> tuple[RolloutTrace, ...]:
    pairs = zip(rollouts, verdicts, strict=True)
    return tuple(
        RolloutTrace(r, v, steps(r.trajectory, draft), measure_rollout(draft, r, v) if draft else None)
        for r, v in pairs
    )


def _list_results(observation: str, draft: Draft | None) -> tuple[Result, ...]:
    evidence_ids = [shown_id(hop.passage_id) for hop in draft.hops] if draft else []
    answer = draft.answer if draft else ""
    return tuple(
        Result(
            id=passage.id,
            title=passage.title,
            snippet=snippet(passage.text, answer),
            hops=tuple(number for number, evidence_id in enumerate(evidence_ids, 1) if evidence_id == passage.id),
        )
        for passage in shown_passages(observation)
    )


def by_title(passages: Mapping[str, ShownPassage]) -> tuple[ShownPassage, ...]:
    return tuple(sorted(passages.values(), key=lambda passage: (passage.title, passage.id)))


def snippet(text: str, answer: str) -> str:
    """Return about two lines of a text: those around the answer, or the first if it does not hold the answer."""
    if len(text) <= SNIPPET:
        return text
    match = re.search(re.escape(answer), text, re.IGNORECASE) if answer else None
    start = max(0, min(match.start() - SNIPPET // 2, len(text) - SNIPPET)) if match else 0
    end = start + SNIPPET
    if start:
        start = 1 + max(start - 1, text.find(" ", start, start + 30))
    if end < len(text):
        end = max(end - 30, text.rfind(" ", end - 30, end)) if text[end] != " " else end
    return ("… " if start else "") + text[start:end].strip() + (" …" if end < len(text) else "")
