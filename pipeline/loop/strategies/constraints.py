"""A question that hides a thing behind clues, each from a document of its own: each fits many things, all of them one.

It begins with the phrases that join its passage to several documents: each may be the hidden thing, and each of these
documents may give a clue. What a clue names may be hidden too, behind a hop that leads to it. A seed without such a
phrase is one without a walk.
"""

import re
from collections.abc import Sequence

from pipeline.agents.agent import Agent
from pipeline.agents.cited import clues, start
from pipeline.agents.proposals import ConstraintsArguments
from pipeline.agents.tools import WALK_REFINER_TOOLS, WALK_TOOLS, listed, shown
from pipeline.context import RunContext
from pipeline.corpus.language import language_of
from pipeline.errors import FormatError
from pipeline.links.offered_walks import Related
from pipeline.llm.base import Tool
from pipeline.loop.solve_rates import aim
from pipeline.loop.strategies import aggregate, sage, walk
from pipeline.loop.strategies.base import Proposal
from pipeline.text import untagged
from pipeline.text.names import contains
from pipeline.text.scripts import spaced
from pipeline.types import CONSTRAINTS, Draft, Round, Seed

NOTES = ("constraints/_write", "refiner/_operators")
FEWEST, MOST = 2, 4
"""Clues of a question."""
_CAPITAL_NOUNS = ("de",)


async def propose(seed: Seed, context: RunContext) -> Proposal:
    found = await _things(seed, context)
    if not found:
        return await walk.unlinked(seed, context)
    asked = _author(seed, context, WALK_TOOLS)
    messages = context.prompt(
        "generator/constraints",
        passage=shown(seed.passage),
        links=walk.fitting(listed(found), aggregate.ROOM),
        answer_types=sage.answer_types(seed, context),
        target_steps=aim(seed, context.config, ()),
        search_budget=asked.limits.searches,
        check_budget=asked.checks,
        calls_per_turn=asked.limits.calls_per_turn,
    )
    return await sage.run(asked, messages, aggregate.read(found, seed), seed)


async def revise(seed: Seed, context: RunContext, rounds: Sequence[Round]) -> Proposal:
    draft = rounds[-1].draft
    if draft is None or draft.family != CONSTRAINTS:  # of a seed that went `sage`'s way
        return await sage.revise(seed, context, rounds)
    reviser = _author(seed, context, WALK_REFINER_TOOLS, sage.another(rounds))
    return await sage.revise(seed, context, rounds, reviser, NOTES)


async def _things(seed: Seed, context: RunContext) -> list[Related]:
    """What may be hidden: the phrases that join the seed's passage with several documents, those first that a walk says
    can be: a search for what one of its passages says of them brings none of the others."""
    walks = [one.walk for one in await walk.offered(seed, context, FEWEST)]
    apart = {one.stops[0].bridge for one in walks if one.kind == "conjunction"}
    return sorted(aggregate.joined(seed, context), key=lambda one: one.phrase not in apart)


def _author(seed: Seed, context: RunContext, tools: Sequence[Tool], *rules: sage.Rule) -> Agent:
    return walk.author(seed, context, tools, _hidden, *rules, form=ConstraintsArguments)


def _hidden(draft: Draft) -> None:
    if not FEWEST <= len(clues(draft)) <= MOST:
        raise FormatError(
            f"{FEWEST} to {MOST} hops are clues: each has the hidden thing as its `answer`, in one spelling. The last "
            "of them is the last hop, or the one before it where the question asks for a fact of that thing."
        )
    for number in clues(draft):
        asked = draft.hops[number].sub_question
        if more := _untold(draft, number):
            raise FormatError(f"The clue '{asked}' says '{more}', and the question does not: a clue asks what it says.")


def _untold(draft: Draft, number: int) -> str:
    """A name or number of a clue that neither the question says nor a hop gives that leads to it: with it the clue
    would fit other things than for who reads the question. Where every noun has a capital, a name is what the title or
    the answer of a hop names too, with or without the s of its genitive."""
    asked = draft.hops[number].sub_question
    nouns = language_of(f"{draft.question} {asked}") in _CAPITAL_NOUNS

    def stands(word: str, texts: Sequence[str]) -> bool:
        forms = (word, word.removesuffix("s"), f"{word}s") if nouns else (word,)
        return any(contains(text, form) for text in texts for form in forms)

    given = [name for hop in draft.hops[start(draft, number) : number] for name in hop.spellings]
    names = [name for hop in draft.hops for name in (untagged(hop.title), *hop.spellings)]
    said = re.findall(r"[^\W_][\w-]*", spaced(asked))[1:]
    named = (word for word in said if word[0].isdigit() or word[0].isupper() and (not nouns or stands(word, names)))
    return next((word for word in named if not stands(word, (draft.question, *given))), "")
