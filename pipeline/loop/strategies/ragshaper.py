"""RAGShaper's curator and composer (arXiv 2601.08699, §3.1 to 3.2): a question from the best path of a tree.

The paper writes its questions once and keeps them all. Here they go through the same loop as any other; SAGE's refiner,
who may search, revises them.
"""

import re
from collections.abc import Sequence
from functools import partial

from pipeline.agents.answers import list_items
from pipeline.agents.calls import AgentState
from pipeline.agents.curator import grow, steps
from pipeline.agents.graph_proposals import ComposeArguments
from pipeline.agents.parse import parse
from pipeline.agents.tools import COMPOSER_TOOLS, show_passage
from pipeline.context import RunContext
from pipeline.errors import DeadlineExceeded, FormatError
from pipeline.llm.deadline import deadline
from pipeline.loop.strategies import sage
from pipeline.loop.strategies.base import Proposal, to_draft
from pipeline.text import sentences
from pipeline.text.names import contains
from pipeline.types import Draft, Probe, Round, Seed, Tree, Usage

MOST_SENTENCES, MOST_WORDS, MOST_ANSWER_WORDS = 2, 85, 12
"""Of a question, as the paper and its authors' code have it; of an answer, where one entity turns into a list."""


async def propose(seed: Seed, context: RunContext) -> Proposal:
    """Grow the tree, then compose from its paths, the best first, until a draft has as many hops as its target. A path
    that runs out of its time takes no draft of an earlier one with it."""
    tree = await grow(seed, context)
    spent, checked, best = Usage(), tuple[Probe, ...](), 0
    for leaf in tree.paths:
        try:
            made = await _composed(seed, context, tree, leaf)
        except DeadlineExceeded:
            if not best:
                raise
            continue
        spent += made.trajectory.usage
        checked += made.checked
        hops = len(made.draft.hops) if made.draft else 0
        if leaf == tree.paths[0] or hops > best:
            proposal, best = made, hops
        if hops >= seed.target_steps:
            break
    trajectory = proposal.trajectory.model_copy(update={"usage": spent})
    return proposal.model_copy(update={"trajectory": trajectory, "checked": checked})


async def revise(seed: Seed, context: RunContext, rounds: Sequence[Round]) -> Proposal:
    """SAGE's refiner over all that the tree holds."""
    return await sage.revise(seed, context, rounds)


async def _composed(seed: Seed, context: RunContext, tree: Tree, leaf: int) -> Proposal:
    settings, retriever = context.config.tree, context.side(seed.side)
    got = [await retriever.get(passage_id) for passage_id in tree.passages(leaf)]
    passages = {passage.id: passage for passage in got if passage is not None}
    tools = COMPOSER_TOOLS if settings.composer_searches else COMPOSER_TOOLS[2:]
    rule = partial(keeps_to_the_rules, least_hops=settings.hops)
    composer = sage.agent(seed, context, tools, settings.composer_searches, rule, read=_read)
    path = steps(tree.path(leaf), passages, limited=composer.room is not None, numbered=True)
    messages = context.prompt(
        "composer/compose",
        passage=show_passage(seed.passage, numbered=True),
        path=path,
        least_hops=settings.hops,
        operations=sage.offered(context),
        target_steps=max(seed.target_steps, settings.hops),
        search_budget=composer.limits.searches,
        check_budget=composer.checks,
        calls_per_turn=composer.limits.calls_per_turn,
    )
    given = [seed.passage.shown_id, *(p["id"] for step in path for p in step["passages"])]
    state = AgentState(passages={passage.shown_id: passage for passage in passages.values()}, given=frozenset(given))
    async with deadline(context.config.runtime.rollout_seconds):
        made = await sage.run(composer, messages, state, seed)
    return made.model_copy(update={"tree": tree.model_copy(update={"composed": leaf if made.draft else None})})


def _read(arguments: str, state: AgentState) -> Draft | None:
    proposed = parse(ComposeArguments, arguments)
    draft = to_draft(proposed, state.passages)
    return draft.model_copy(update={"negative_aspect": proposed.negative_aspect}) if draft else None


def keeps_to_the_rules(draft: Draft, least_hops: int) -> None:
    """What the paper asks of every question (Fig. 12). Raises FormatError, written for the composer."""
    asked, answer = draft.question, draft.answer
    if len(sentences(asked)) > MOST_SENTENCES or len(asked.split()) > MOST_WORDS:
        raise FormatError(f"The question takes at most {MOST_SENTENCES} sentences and {MOST_WORDS} words.")
    if _ASKS_NO_FACT.match(asked):
        raise FormatError("Ask for a fact, not how or why.")
    if len(draft.hops) < least_hops:
        raise FormatError(f"The question needs at least {least_hops} dependent hops.")
    if not list_items(draft) and (";" in answer or "\n" in answer or len(answer.split()) > MOST_ANSWER_WORDS):
        raise FormatError("The answer is one entity, date or number, not a list or a sentence.")
    if not draft.graph.is_computed and contains(asked, answer):
        raise FormatError("The question holds its answer.")


_ASKS_NO_FACT = re.compile(
    r"\s*(?:why|how(?:['’]s|\s+(?:do|does|did|is|are|was|were|has|have|had|can|could|will|would|shall|should|may|might|must"
    r"|to|come|exactly|else)))\b",
    re.IGNORECASE,
)
"""Why, and how before a verb: before any other word "how" asks for a measure, as in "how often"."""
