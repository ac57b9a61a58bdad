"""A question from a walk over the links of the corpus. The author is given the best few from its passage: it chooses
one, bends it by links and searches where need be, or refuses all of them. Who revises is given the other walks, and
what else the passage before the failed hop leads to.

A seed whose passage has no walk is passed over before a call is made, but for a share that goes `sage`'s way.
"""

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import orjson

from pipeline.agents.agent import Agent
from pipeline.agents.calls import AgentState, LinksOf
from pipeline.agents.proposals import ProposeArguments
from pipeline.agents.tools import LINKED, WALK_REFINER_TOOLS, WALK_TOOLS, listed, shown
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.links.offered_walks import Offer, Related, offers, related
from pipeline.llm.base import Tool
from pipeline.llm.token_estimate import tokens
from pipeline.loop.solve_rates import aim
from pipeline.loop.strategies import sage
from pipeline.loop.strategies.base import Proposal, to_draft
from pipeline.text import contains, sentences
from pipeline.types import Draft, Passage, Round, Seed, Stop, Trajectory, sha256

SEARCHES = 12
"""Most searches, opened passages and looks at links of an author: most drafts need none."""
_WALKS, _OTHERS, _LINKS = 1_500, 700, 500
"""Tokens of the walks that a generator is shown, and of a refiner's walks and links: every turn sends them again."""
_WHOLE = 4
"""Passages of a walk that are shown whole; of those of a longer one only the sentences that matter are."""


async def propose(seed: Seed, context: RunContext) -> Proposal:
    target = aim(seed, context.config, ())
    found = await offered(seed, context, target)
    if not found:
        return await unlinked(seed, context)
    asked = author(seed, context, WALK_TOOLS)
    walks = fitting(_told(found, seed), _WALKS)
    messages = context.prompt(
        "generator/walk",
        passage=shown(seed.passage),
        walks=walks,
        answer_types=sage.answer_types(seed, context),
        target_steps=target,
        search_budget=asked.limits.searches,
        check_budget=asked.checks,
        calls_per_turn=asked.limits.calls_per_turn,
    )
    own, passages = seed.passage.shown_id, _passages(found)
    told = {one["id"]: one["text"] for walk in walks for one in walk["passages"]}
    whole = {i for i, text in told.items() if text == shown(passages[i])["text"]}
    given = {i: passages[i] for i in told} | {own: seed.passage}
    state = AgentState(passages=given, given=frozenset(whole | {own}))
    return await sage.run(asked, messages, state, seed)


async def revise(seed: Seed, context: RunContext, rounds: Sequence[Round]) -> Proposal:
    found = await offered(seed, context, aim(seed, context.config, rounds))
    last = rounds[-1]
    if not found or last.draft is None or last.feedback is None:
        return await sage.revise(seed, context, rounds)
    # Not those that a draft has gone along from one end to the other.
    gone = [{hop.passage_id for hop in past.draft.hops} for past in rounds if past.draft]
    found = [one for one in found if not any(cited.issuperset(p.id for p in one.passages) for cited in gone)]
    links = await _beside(last.draft, last.feedback.hops, seed, context)
    reviser = author(seed, context, WALK_REFINER_TOOLS, sage.another(rounds))
    drafts, seen, state = await sage.revision(seed, context, rounds, reviser)
    messages = context.prompt(
        "refiner/walk",
        drafts=drafts,
        start=seed.passage.shown_id,
        walks=fitting(_told(found, seed), _OTHERS),
        links=fitting(listed(links), _LINKS),
        answer_types=sage.answer_types(seed, context),
        target_steps=aim(seed, context.config, rounds),
        seen=seen,
        search_budget=reviser.limits.searches,
        check_budget=reviser.checks,
        calls_per_turn=reviser.limits.calls_per_turn,
    )
    passages = (*_passages(found).values(), *(passage for one in links for passage in one.passages))
    state.passages.update({passage.shown_id: passage for passage in passages})
    return await sage.run(reviser, messages, state, seed)


async def unlinked(seed: Seed, context: RunContext) -> Proposal:
    """What becomes of a seed that nothing leads on from: none, but for a share that goes `sage`'s way."""
    # Drawn by hash, not by chance.
    if int(sha256(f"unlinked:{seed.key}")[:8], 16) < context.config.links.unlinked * 2**32:
        return await sage.propose(seed, context)
    return Proposal(trajectory=Trajectory(messages=(), calls=(), stop=Stop.NO_WALK), draft=None)


async def offered(seed: Seed, context: RunContext, hops: int) -> list[Offer]:
    """The best walks of so many passages from the seed's own."""
    walks, retrievers = context.walks[seed.side], list(context.searched.values())
    start = walks.links.corpus.place(seed.passage.id)
    return [] if start is None else await offers(walks, start, max(hops, 2), retrievers, context.config.retrieval.k)


def author(
    seed: Seed,
    context: RunContext,
    tools: Sequence[Tool],
    *rules: sage.Rule,
    form: type[ProposeArguments] = ProposeArguments,
) -> Agent:
    """A seed gives questions of its own passage: all others have seeds that give theirs."""
    own = f"{seed.passage.document_id}#"

    def rests_on_it(draft: Draft) -> None:
        if not any(hop.passage_id.startswith(own) for hop in draft.hops):
            raise FormatError(f"One of the hops must rest on the given passage, {seed.passage.shown_id}.")

    searches, read = min(SEARCHES, context.config.generator.searches), partial(to_draft, form=form)
    return sage.agent(seed, context, tools, searches, rests_on_it, *rules, read=read, links=links_from(seed, context))


def links_from(seed: Seed, context: RunContext) -> LinksOf:
    """What else holds the phrases of a passage, on the seed's side."""
    walks = context.walks[seed.side]

    def links(passage: Passage, each: int) -> Sequence[Related]:
        place = walks.links.corpus.place(passage.id)
        return [] if place is None else related(walks, place, each=each)

    return links


async def _beside(draft: Draft, failed: Sequence[int], seed: Seed, context: RunContext) -> Sequence[Related]:
    """The links of the passage from which the first hop that failed was reached; without one the last hop."""
    hop = draft.hops[max(0, min(failed, default=len(draft.hops) - 1) - 1)]
    passage = await context.side(seed.side).get(hop.passage_id)
    return links_from(seed, context)(passage, LINKED) if passage else ()


def _passages(found: Iterable[Offer]) -> dict[str, Passage]:
    """By shown id."""
    return {passage.shown_id: passage for one in found for passage in one.passages}


def _told(found: Iterable[Offer], seed: Seed) -> list[dict[str, Any]]:
    """The walks, each passage whole where it is first shown, unless its walk is long."""
    told, before = [], {seed.passage.id}
    for one in found:
        stops = list(zip(one.walk.stops, one.passages, strict=True))
        matter = {stop.bridge for stop in one.walk.stops if stop.bridge} | {*one.ends}
        passages = []
        for stop, passage in stops:
            head = shown(passage)
            if passage.id in before or len(stops) > _WHOLE:
                head["text"] = _excerpt(passage.text, matter)
            passages.append(head | {"bridge": stop.bridge})
            before.add(passage.id)
        told.append({"kind": one.walk.kind, "passages": passages, "ends": list(one.ends)})
    return told


def _excerpt(text: str, phrases: Iterable[str]) -> str:
    """The first sentence of a text, and those that hold one of these."""
    said = [text[start:end] for start, end in sentences(text)]
    kept = [n for n, one in enumerate(said) if not n or any(contains(one, phrase) for phrase in phrases)]
    parts = [" ".join(said[n].split()) for n in kept]
    gaps = [" " if later == earlier + 1 else " … " for earlier, later in pairwise(kept)]
    return "".join(part for both in zip(parts, [*gaps, ""], strict=True) for part in both)


def fitting(told: list[dict[str, Any]], room: int) -> list[dict[str, Any]]:
    """The first, and as many more as there is room for."""
    while len(told) > 1 and tokens(orjson.dumps(told).decode()) > room:
        told = told[:-1]
    return told
