"""A seed's earlier rounds, as the refiner sees them.

It sees the last draft with its checks and rollouts, the earlier drafts with the reason why each failed, and the full
text of some of the passages that were read.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from pipeline.context import RunContext
from pipeline.llm.token_estimate import tokens
from pipeline.loop.checks.base import load_meanings
from pipeline.loop.draft_check import format_ranks, hide_unseen
from pipeline.types import Draft, GradedRollout, Passage, Probe, Round, Searched, Seed
from pipeline.types.graph import FoundStep

# Every turn of the refiner sends all of this again, so it is kept short.
_DRAFT_TOKENS = 4_000
"""The most tokens of the last draft with its checks and rollouts; above it, their searches are left out."""
_PASSAGE_TOKENS = 1_500
"""The most tokens of passages in full."""
_OTHER_TITLES = 2
"""The titles that are named for each search besides the cited passages."""


@dataclass(frozen=True)
class SeenPassages:
    """The passages that any agent or check of the seed has read."""

    same_side: dict[str, Passage]
    """Passages of the seed's side of the split, by corpus id, in the order of reading."""
    other_side: tuple[Passage, ...]
    """Passages of the other side, which must not enter a question."""
    new: tuple[str, ...]
    """Ids of the passages that only checks and rollouts of the last round have read, and no generator."""


async def load_seen_passages(
    seed: Seed, context: RunContext, rounds: Sequence[Round], shown_rollouts: Sequence[GradedRollout]
) -> SeenPassages:
    """Load the passages of all rounds. `shown_rollouts` are those of the last round that the refiner sees."""
    seen_ids = {seed.passage.id: None}
    new: dict[str, None] = {}
    for round_ in rounds:
        seen_ids |= dict.fromkeys(i for node in (round_.tree.nodes if round_.tree else ()) for i in node.passage_ids)
        seen_ids |= dict.fromkeys(i for call in round_.agent.calls for i in call.passage_ids)
        seen_ids |= dict.fromkeys(hop.passage_id for hop in (round_.draft.hops if round_.draft else ()))
        is_last = round_ is rounds[-1]
        graded = shown_rollouts if is_last else [*round_.graded, *round_.policy_graded]
        id_lists = [search.passage_ids for finding in round_.findings for search in finding.searches]
        id_lists += [call.passage_ids for rollout, _ in graded for call in rollout.trajectory.calls]
        new = dict.fromkeys(i for ids in id_lists for i in ids if i not in seen_ids)
        seen_ids |= new
    side = context.side(seed.side)
    same_side = {i: passage for i in seen_ids if (passage := await side.get(i))}
    other_side = [await context.retriever.get(i) for i in seen_ids if i not in same_side]
    return SeenPassages(
        same_side=same_side,
        other_side=tuple(passage for passage in other_side if passage),
        new=tuple(i for i in new if i in same_side),
    )


def choose_full_passages(draft: Draft, passages: SeenPassages, *, limited: bool, opens: bool) -> list[Passage]:
    """Choose the passages that a refiner is shown in full: the cited ones, then new ones until the room is used.

    Args:
        draft: the last draft.
        passages: the passages read so far.
        limited: whether the model's context is limited. Without a limit it is shown all passages.
        opens: whether the refiner can open passages. If it cannot, it has more room, also for older ones.
    """
    if not limited:
        return list(passages.same_side.values())
    cited = [hop.passage_id for hop in draft.hops if hop.passage_id in passages.same_side]
    chosen: list[Passage] = []
    room = _PASSAGE_TOKENS * (1 if opens else 2)
    for i in dict.fromkeys([*cited, *passages.new, *(() if opens else reversed(passages.same_side))]):
        room -= tokens(passages.same_side[i].text)
        if room < 0 and i not in cited:
            break
        chosen.append(passages.same_side[i])
    return chosen


def describe_drafts(
    rounds: Sequence[Round], shown_rollouts: Sequence[GradedRollout], passages: SeenPassages
) -> list[dict[str, Any]]:
    *earlier, (last, draft) = [(round_, round_.draft) for round_ in rounds if round_.draft]
    description: dict[str, Any] = {
        "question": draft.question,
        "answer": draft.answer,
        "steps": _describe_steps(draft, passages),
        "checks": _describe_checks(last, draft, passages),
        "rollouts": [_describe_rollout(graded, last, draft, passages) for graded in shown_rollouts],
        "feedback": _describe_feedback(last, passages),
    }
    if tokens(orjson.dumps(description).decode()) > _DRAFT_TOKENS:
        for row in (*description["checks"], *description["rollouts"]):
            row.pop("searches", None)
            row.pop("calls", None)
    return [*(_describe_earlier(round_, draft, passages) for round_, draft in earlier), description]


def _describe_earlier(round_: Round, draft: Draft, passages: SeenPassages) -> dict[str, Any]:
    feedback = _describe_feedback(round_, passages)
    return {"question": draft.question, "steps": _describe_steps(draft, passages), "feedback": feedback}


def _describe_steps(draft: Draft, passages: SeenPassages) -> list[dict[str, Any]]:
    steps = []
    for step in draft.graph.steps:
        fields = step.model_dump(mode="json", exclude={"citation"}, exclude_defaults=True)
        if isinstance(step, FoundStep):
            passage = passages.same_side.get(step.citation.passage_id)
            fields["passage_id"] = passage.shown_id if passage else ""
            fields["sentences"] = [index + 1 for index in step.citation.sentences]
        steps.append(fields)
    return steps


def _describe_feedback(round_: Round, passages: SeenPassages) -> dict[str, Any]:
    feedback = round_.feedback
    return (
        feedback.model_dump(mode="json") | {"message": _hide_other_side(feedback.message, passages)} if feedback else {}
    )


def _describe_checks(round_: Round, draft: Draft, passages: SeenPassages) -> list[dict[str, Any]]:
    failed = {finding.check for finding in round_.findings}
    rows = [
        _describe_check(finding.check, _hide_other_side(finding.detail, passages), finding.searches, draft, passages)
        for finding in round_.findings
    ]
    passed: dict[str, dict[str, None]] = {}
    for probe in round_.probes:
        if probe.check not in failed:
            passed.setdefault(probe.check, {})[_describe_probe(probe)] = None
    return rows + [_describe_check(check, "; ".join(answers), (), draft, passages) for check, answers in passed.items()]


def _describe_check(
    check: str, text: str, searches: Iterable[Searched], draft: Draft, passages: SeenPassages
) -> dict[str, Any]:
    rows = [{"query": search.query, "found": _format_hits(search.passage_ids, draft, passages)} for search in searches]
    return {"check": check, "said": text} | ({"searches": rows} if rows else {})


def _describe_probe(probe: Probe) -> str:
    meaning = load_meanings().get(probe.check)
    if meaning and (description := meaning.describe(probe)):
        return description
    answers = ", ".join(f"'{answer}'" for answer in dict.fromkeys(probe.answers)) or "nothing"
    if not probe.right:
        return f"answered {answers}: wrong"
    if probe.uncited:
        return f"answered {answers}: right, but no passage states: {', '.join(probe.uncited)}"
    return f"answered {answers}: {'right' if probe.evidence else _BY_HEART}"


_BY_HEART = "right, by heart, which alone sends no draft back"


def _describe_rollout(graded: GradedRollout, round_: Round, draft: Draft, passages: SeenPassages) -> dict[str, Any]:
    rollout, verdict = graded
    calls = [
        ({"query": call.argument} if call.tool == "search" else {"tool": call.tool})
        | {"found": _format_hits(call.passage_ids, draft, passages)}
        for call in rollout.trajectory.calls
    ]
    return {
        "answer": rollout.answer,
        "stop": rollout.trajectory.stop.value,
        "right": verdict.right,
        "supported": verdict.supported,
        "steps": verdict.steps,
        "calls": calls,
        **({"policy": True} if any(rollout is policy_rollout for policy_rollout in round_.policy_rollouts) else {}),
    }


def _format_hits(passage_ids: Sequence[str], draft: Draft, passages: SeenPassages) -> str:
    cited = {hop.passage_id for hop in draft.hops}
    titles = dict.fromkeys(
        passages.same_side[i].title for i in passage_ids if i in passages.same_side and i not in cited
    )
    quoted = [f"'{title}'" for title in [*titles][:_OTHER_TITLES]]
    return "; ".join(filter(None, (format_ranks(passage_ids, draft), ", ".join(quoted)))) or "nothing cited"


def _hide_other_side(text: str, passages: SeenPassages) -> str:
    return hide_unseen(text, passages.other_side, passages.same_side.values())
