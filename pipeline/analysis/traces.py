"""A record as the page shows it: every call with what it brought back, and what that has to do with the evidence."""

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pipeline.agents.answers import list_items
from pipeline.agents.tools import ShownPassage, all_shown, shown_passages
from pipeline.analysis.rollout_metrics import RolloutMetrics, process
from pipeline.config.difficulty_settings import way_of
from pipeline.types import Draft, Encounter, Node, Record, Rollout, Round, Trajectory, Tree, Verdict, shown_id

SNIPPET = 220


class Result(NamedTuple):
    """One passage of an observation. `hops` are the numbers, from 1, of the hops that rest on it."""

    id: str
    title: str
    snippet: str
    hops: tuple[int, ...]


class Step(NamedTuple):
    """One tool call: `number` counts steps from 1 and is 0 for a repeat or a call that was not carried out."""

    number: int
    tool: str
    argument: str
    thought: str
    results: tuple[Result, ...]
    note: str
    """The observation where it holds no passage."""
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
    """The distractors that it met, where it had any around it."""


class RoundTrace(NamedTuple):
    """One round, with the question of the round before it to show what changed."""

    round: Round
    before: Draft | None
    agent: tuple[Step, ...]
    attempts: tuple[RolloutTrace, ...]
    policy: tuple[RolloutTrace, ...]
    """Those of the model that the pairs are for."""


class Item(NamedTuple):
    record: Record
    parts: tuple[RoundTrace, ...]
    confirmation: tuple[RolloutTrace, ...]
    seekers: tuple[tuple[str, RolloutTrace], ...]
    """With their ways."""
    passages: tuple[ShownPassage, ...]
    """All that any agent saw, once each, by title."""
    answers: tuple[str, ...]
    """The spellings of the answer, to mark in texts."""


class TreeBranch(NamedTuple):
    """A stretch of an information tree without a fork, and what forks off at its end."""

    nodes: tuple[tuple[bool, Node], ...]
    """Whether the question was composed from it, and the node."""
    limbs: tuple["TreeBranch", ...]


class TreeLayout(NamedTuple):
    draft: Draft
    tree: Tree
    limb: TreeBranch


def grown(record: Record) -> TreeLayout | None:
    """The first tree of an accepted pair, if it has one."""
    tree = next((past.tree for past in record.rounds if past.tree), None)
    return TreeLayout(record.draft, tree, limb(tree, 0)) if tree and record.draft else None


def limb(tree: Tree, index: int) -> TreeBranch:
    """What grows from that node on."""
    taken = tree.path(tree.composed) if tree.composed is not None else ()
    nodes, below = [], [index]
    while len(below) == 1:
        node = tree.nodes[below[0]]
        nodes.append((node in taken, node))
        below = [child for child, other in enumerate(tree.nodes) if other.parent == below[0]]
    return TreeBranch(tuple(nodes), tuple(limb(tree, child) for child in below))


def item(record: Record) -> Item:
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
    answers = (draft.answer, *draft.answer_aliases, *_items(draft)) if draft else ()
    trajectories = [past.agent for past in record.rounds]
    trajectories += [r.trajectory for past in record.rounds for r in (*past.rollouts, *past.policy_rollouts)]
    trajectories += [r.trajectory for r in (*record.confirmation, *record.seekers)]
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


def _items(draft: Draft) -> list[str]:
    return [name for item in list_items(draft) for name in item.spellings]


def steps(trajectory: Trajectory, draft: Draft | None) -> tuple[Step, ...]:
    """The calls of an agent in order, without the one that ended it."""
    answers = {message.tool_call_id: message.content for message in trajectory.messages if message.tool_call_id}
    made = {call.id: call for call in trajectory.calls}
    found, number = [], 0
    for message in trajectory.messages:
        thought = message.reasoning or message.content
        for call in message.tool_calls:
            if call.id not in answers:
                continue
            done = made.get(call.id)
            number += done is not None and not done.repeat
            results = _results(answers[call.id], draft)
            found.append(
                Step(
                    number=number if done and not done.repeat else 0,
                    tool=done.tool if done else call.name,
                    argument=done.argument if done else call.arguments,
                    thought=thought,
                    results=results,
                    note="" if results else answers[call.id],
                    repaired=call.repaired,
                )
            )
            thought = ""
    return tuple(found)


def attempts(rollouts: Sequence[Rollout], verdicts: Sequence[Verdict], draft: Draft | None) -> tuple[RolloutTrace, ...]:
    """Rollouts with their verdicts, set against the draft that they answered."""
    pairs = zip(rollouts, verdicts, strict=True)
    return tuple(
        RolloutTrace(r, v, steps(r.trajectory, draft), process(draft, r, v) if draft else None) for r, v in pairs
    )


def _results(observation: str, draft: Draft | None) -> tuple[Result, ...]:
    homes = [shown_id(hop.passage_id) for hop in draft.hops] if draft else []
    answer = draft.answer if draft else ""
    return tuple(
        Result(
            id=passage.id,
            title=passage.title,
            snippet=snippet(passage.text, answer),
            hops=tuple(number for number, home in enumerate(homes, 1) if home == passage.id),
        )
        for passage in shown_passages(observation)
    )


def by_title(shown: Mapping[str, ShownPassage]) -> tuple[ShownPassage, ...]:
    return tuple(sorted(shown.values(), key=lambda passage: (passage.title, passage.id)))


def snippet(text: str, answer: str) -> str:
    """About two lines of a text: those around the answer where it holds it, else the first."""
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
