"""What the refiner is shown of a seed's rounds: each draft, what every check of it asked and found, its rollouts, and
why it failed; and which of the passages read so far stand there whole.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from pipeline.context import RunContext
from pipeline.llm.tokens import tokens
from pipeline.loop.draft_check import without_titles
from pipeline.types import Draft, Finding, GradedRollout, Passage, Probe, Round, Searched, Seed

_DRAFTS, _PASSAGES, _TITLES = 8_000, 6_000, 60
"""Tokens of all drafts, tokens of the passages shown whole, documents named besides: a request holds them with the
prompt and leaves more than half of its room to the conversation."""


@dataclass(frozen=True)
class Read:
    """The passages that any agent or check of the seed has read: those of its own side, by corpus id and in order, and
    those of the other side, of which nothing may enter a question."""

    own: dict[str, Passage]
    other: tuple[Passage, ...]
    new: tuple[str, ...]
    """Ids of what checks and rollouts of the last round brought and no generator's agent was shown before."""


async def read(seed: Seed, context: RunContext, rounds: Sequence[Round], pairs: Sequence[GradedRollout]) -> Read:
    """`pairs` are the rollouts of the last round that the refiner is shown."""
    seen = {seed.passage.id: None}
    brought: dict[str, None] = {}
    for past in rounds:
        seen |= dict.fromkeys(i for node in (past.tree.nodes if past.tree else ()) for i in node.passage_ids)
        seen |= dict.fromkeys(i for call in past.agent.calls for i in call.passage_ids)
        rollouts = [rollout for rollout, _ in pairs] if past is rounds[-1] else past.rollouts
        checks: tuple[Finding | Probe, ...] = (*past.findings, *past.probes)
        found = [search.passage_ids for check in checks for search in check.searches]
        found += [call.passage_ids for rollout in rollouts for call in rollout.trajectory.calls]
        brought = dict.fromkeys(i for ids in found for i in ids if i not in seen)
        seen |= brought
    side = context.side(seed.side)
    own = {i: passage for i in seen if (passage := await side.get(i))}
    other = [await context.retriever.get(i) for i in seen if i not in own]
    new = tuple(i for i in brought if i in own)
    return Read(own=own, other=tuple(passage for passage in other if passage), new=new)


def whole(draft: Draft, known: Read, *, limited: bool, opens: bool) -> list[Passage]:
    """The passages that a refiner is shown whole: the cited ones, then the new ones, as long as there is room. One who
    cannot open the others has them too, and a model without a limit has all."""
    if not limited:
        return list(known.own.values())
    cited = [hop.passage_id for hop in draft.hops if hop.passage_id in known.own]
    chosen: list[Passage] = []
    left = _PASSAGES * (1 if opens else 2)
    for i in dict.fromkeys([*cited, *known.new, *(() if opens else reversed(known.own))]):
        left -= tokens(known.own[i].text)
        if left < 0 and i not in cited:
            break
        chosen.append(known.own[i])
    return chosen


def titles(known: Read, given: Iterable[Passage]) -> list[dict[str, str]]:
    """One passage of every other document that was read, the last read first: to be opened again."""
    documents = {passage.document_id for passage in given}
    rest = {p.document_id: p for p in reversed(list(known.own.values())) if p.document_id not in documents}
    return [{"id": p.shown_id, "title": p.title} for p in list(rest.values())[:_TITLES]]


def drafts(rounds: Sequence[Round], pairs: Sequence[GradedRollout], known: Read) -> list[dict[str, Any]]:
    """Every draft so far, the last one last. Where they are too long together, the oldest come without what was
    searched."""
    past = [(one, one.draft) for one in rounds if one.draft]
    accounts = [
        _account(one, draft, pairs if one is rounds[-1] else graded(one), known, in_full=True) for one, draft in past
    ]
    for place, (one, draft) in enumerate(past[:-1]):
        if tokens(orjson.dumps(accounts).decode()) <= _DRAFTS:
            break
        accounts[place] = _account(one, draft, graded(one), known, in_full=False)
    return accounts


def graded(past: Round) -> list[GradedRollout]:
    return [GradedRollout(*pair) for pair in zip(past.rollouts, past.verdicts, strict=True)]


def _account(
    past: Round, draft: Draft, pairs: Sequence[GradedRollout], known: Read, *, in_full: bool
) -> dict[str, Any]:
    tree = draft.model_dump(mode="json", exclude={"negative_aspect"})
    for hop in tree["hops"]:
        del hop["passage_sha256"]
        cited = known.own.get(hop["passage_id"])
        hop["passage_id"] = cited.shown_id if cited else ""
    back = past.feedback.model_dump(mode="json") if past.feedback else {}
    if back:
        back["message"] = _clean(back["message"], known)
    return {
        **tree,
        "checks": [_asked(probe, draft, known, in_full=in_full) for probe in past.probes]
        + [_found(finding, draft, known, in_full=in_full) for finding in past.findings],
        "rollouts": [_rollout(pair, draft, known, in_full=in_full) for pair in pairs],
        "feedback": back,
    }


def _asked(probe: Probe, draft: Draft, known: Read, *, in_full: bool) -> dict[str, Any]:
    answered = {"check": probe.check, "answers": probe.answers, "right": probe.right, "hops": probe.hops}
    return answered | _searches(probe.searches, draft, known, in_full=in_full)


def _found(finding: Finding, draft: Draft, known: Read, *, in_full: bool) -> dict[str, Any]:
    detail = _clean(finding.detail, known)
    told = {"check": finding.check, "found": detail, "hops": finding.hops, "fatal": finding.fatal}
    return told | _searches(finding.searches, draft, known, in_full=in_full)


def _searches(searches: Iterable[Searched], draft: Draft, known: Read, *, in_full: bool) -> dict[str, Any]:
    told = [{"query": search.query, "hits": _hits(search.passage_ids, draft, known)} for search in searches]
    return {"searches": told} if told and in_full else {}


def _rollout(pair: GradedRollout, draft: Draft, known: Read, *, in_full: bool) -> dict[str, Any]:
    rollout, verdict = pair
    told = {
        "answer": rollout.answer,
        "stop": rollout.trajectory.stop.value,
        "right": verdict.right,
        "supported": verdict.supported,
        "steps": verdict.steps,
    }
    calls = [
        {"tool": c.tool}
        | ({"query": c.argument} if c.tool == "search" else {})
        | {"hits": _hits(c.passage_ids, draft, known)}
        for c in rollout.trajectory.calls
    ]
    return told | ({"calls": calls} if in_full else {})


def _hits(passage_ids: Sequence[str], draft: Draft, known: Read) -> list[str]:
    """Rank and title of what a search found, and which hops cite it; of an opened document each title once. Hits of the
    other side are left out."""
    homes = [hop.passage_id for hop in draft.hops]
    hits: dict[str, None] = {}
    for rank, i in enumerate(passage_ids, 1):
        if i in known.own:
            cited = "".join(f" = hops[{n}]" for n, home in enumerate(homes) if home == i)
            hits[f"{rank}. {known.own[i].title}{cited}"] = None
    return list(hits)


def _clean(text: str, known: Read) -> str:
    return without_titles(text, known.other, known.own.values())
