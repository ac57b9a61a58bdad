"""A question whose answer is computed over several documents that one link joins: how many, which first, how long
between. The author gives a small program over values that its hops quote; the answer must be what the program gives.

It begins with the links of its passage and searches for what is missing. A seed without them is one without a walk.
"""

from collections.abc import Sequence
from dataclasses import replace

from pipeline.agents.agent import Agent
from pipeline.agents.calls import AgentState
from pipeline.agents.parse import schema_of
from pipeline.agents.proposals import AggregateArguments
from pipeline.agents.tools import WALK_REFINER_TOOLS, WALK_TOOLS, listed, shown
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.links.offered_walks import Related, related
from pipeline.llm.base import Tool
from pipeline.loop.recomputed import program_fault
from pipeline.loop.solve_rates import aim
from pipeline.loop.strategies import sage, walk
from pipeline.loop.strategies.base import Proposal
from pipeline.types import AnswerType, Draft, Round, Seed

NOTE = "aggregate/_write"
_EACH, _LEAST, ROOM = 8, 2, 2_000
"""Documents that are shown of a link, documents beside its own that a link must join, and tokens of all links."""
_PHRASES = 24
"""Phrases of a passage that are looked at for values: those that many documents hold join things of one kind."""


async def propose(seed: Seed, context: RunContext) -> Proposal:
    seed = computable(seed)
    found = sorted(joined(seed, context, _PHRASES), key=_valued, reverse=True)
    if not found:
        return await walk.unlinked(seed, context)
    asked = _author(seed, context, WALK_TOOLS)
    messages = context.prompt(
        "generator/aggregate",
        passage=shown(seed.passage),
        links=walk.fitting(listed(found), ROOM),
        answer_types=sage.answer_types(seed, context),
        target_steps=aim(seed, context.config, ()),
        search_budget=asked.limits.searches,
        check_budget=asked.checks,
        calls_per_turn=asked.limits.calls_per_turn,
    )
    return await sage.run(asked, messages, read(found, seed), seed)


def computable(seed: Seed) -> Seed:
    """With a number for its answer where it was to be a list, or yes or no, which no operation gives."""
    never = AnswerType.LIST, AnswerType.BOOLEAN
    return seed.model_copy(update={"answer_type": AnswerType.NUMBER}) if seed.answer_type in never else seed


async def revise(seed: Seed, context: RunContext, rounds: Sequence[Round]) -> Proposal:
    draft = rounds[-1].draft
    if draft is None or draft.program is None:  # of a seed that went `sage`'s way
        return await sage.revise(seed, context, rounds)
    seed = computable(seed)
    reviser = _author(seed, context, WALK_REFINER_TOOLS, sage.another(rounds))
    return await sage.revise(seed, context, rounds, reviser, (NOTE,))


def joined(seed: Seed, context: RunContext, phrases: int = 8) -> list[Related]:
    """The phrases that join the seed's passage with several other documents, those of the fewest first."""
    walks = context.walks[seed.side]
    if (start := walks.links.corpus.place(seed.passage.id)) is None:
        return []
    found = related(walks, start, phrases, _EACH)
    return [one for one in found if len({passage.document_id for passage in one.passages}) >= _LEAST]


def _valued(one: Related) -> int:
    """Of how many documents the sentence that holds the phrase states a number or date beside it."""
    said = zip(one.passages, one.sentences, strict=True)
    return len({p.document_id for p, text in said if any(map(str.isdigit, text.replace(one.phrase, "")))})


def read(found: Sequence[Related], seed: Seed) -> AgentState:
    """What an author may cite that is shown these links."""
    passages = {passage.shown_id: passage for one in found for passage in one.passages}
    own = {seed.passage.shown_id: seed.passage}
    return AgentState(passages=passages | own, given=frozenset(own))


def _author(seed: Seed, context: RunContext, tools: Sequence[Tool], *rules: sage.Rule) -> Agent:
    asked = walk.author(seed, context, tools, _proven, *rules, form=AggregateArguments)
    last = asked.tools[-1].model_copy(update={"parameters": schema_of(AggregateArguments)})
    return replace(asked, tools=(*asked.tools[:-1], last))


def _proven(draft: Draft) -> None:
    if draft.program is None:
        raise FormatError("The answer is computed: give the `program`.")
    if fault := program_fault(draft):
        raise FormatError(f"{fault[0].upper()}{fault[1:]}.")
