"""RAGShaper's curator and composer (arXiv 2601.08699, §3.1 to 3.2): a question from the best path of a tree.

The paper writes each question once and keeps all. Here they go through the same loop as others, and SAGE's refiner
revises them.
"""

import re
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
from pipeline.loop.strategies.base import Proposal, Strategy, to_draft
from pipeline.text import sentences
from pipeline.text.names import contains
from pipeline.types import Draft, Probe, Seed, Tree, Usage

MOST_SENTENCES, MOST_WORDS, MOST_ANSWER_WORDS = 2, 85, 12
"""The limits of a question, as in the paper and its authors' code; a longer answer would be a list, not an entity."""


async def propose(seed: Seed, context: RunContext) -> Proposal:
    """Grow the tree, then compose from its paths, the best first, until a draft has as many hops as the target.

    If no draft has, the one with the most hops is proposed, even if a later path times out.
    """
    tree = await grow(seed, context)
    usage, checked, most_hops = Usage(), tuple[Probe, ...](), 0
    for leaf in tree.paths:
        try:
            candidate = await _compose(seed, context, tree, leaf)
        except DeadlineExceeded:
            if not most_hops:
                raise
            continue
        usage += candidate.trajectory.usage
        checked += candidate.checked
        hops = len(candidate.draft.hops) if candidate.draft else 0
        if leaf == tree.paths[0] or hops > most_hops:
            proposal, most_hops = candidate, hops
        if hops >= seed.target_steps:
            break
    trajectory = proposal.trajectory.model_copy(update={"usage": usage})
    return proposal.model_copy(update={"trajectory": trajectory, "checked": checked})


async def _compose(seed: Seed, context: RunContext, tree: Tree, leaf: int) -> Proposal:
    settings, retriever = context.config.tree, context.side(seed.side)
    loaded = [await retriever.get(passage_id) for passage_id in tree.passages(leaf)]
    passages = {passage.id: passage for passage in loaded if passage is not None}
    tools = COMPOSER_TOOLS if settings.composer_searches else COMPOSER_TOOLS[2:]
    rule = partial(check_rules, least_hops=settings.hops)
    composer = sage.build_author(seed, context, tools, settings.composer_searches, rule, read=_read_draft)
    path = steps(tree.path(leaf), passages, limited=composer.room is not None, numbered=True)
    messages = context.prompt(
        "composer/compose",
        passage=show_passage(seed.passage, numbered=True),
        path=path,
        least_hops=settings.hops,
        operations=sage.describe_operations(context),
        target_steps=max(seed.target_steps, settings.hops),
        search_budget=composer.limits.searches,
        check_budget=composer.checks,
        calls_per_turn=composer.limits.calls_per_turn,
    )
    shown_ids = frozenset([seed.passage.shown_id, *(p["id"] for step in path for p in step["passages"])])
    state = AgentState(passages={passage.shown_id: passage for passage in passages.values()}, given=shown_ids)
    async with deadline(context.config.runtime.rollout_seconds):
        proposal = await sage.write_draft(composer, messages, state, seed)
    composed = tree.model_copy(update={"composed": leaf if proposal.draft else None})
    return proposal.model_copy(update={"tree": composed})


def _read_draft(arguments: str, state: AgentState) -> Draft | None:
    proposed = parse(ComposeArguments, arguments)
    return to_draft(proposed, proposed.question, state.passages, negative_aspect=proposed.negative_aspect)


def check_rules(draft: Draft, least_hops: int) -> None:
    """Check the paper's rules for a question (Fig. 12).

    Raises:
        FormatError: the draft breaks a rule. The message is for the composer.
    """
    question, answer = draft.question, draft.answer
    if len(sentences(question)) > MOST_SENTENCES or len(question.split()) > MOST_WORDS:
        raise FormatError(f"The question takes at most {MOST_SENTENCES} sentences and {MOST_WORDS} words.")
    if _ASKS_NO_FACT.match(question):
        raise FormatError("Ask for a fact, not how or why.")
    if len(draft.hops) < least_hops:
        raise FormatError(f"The question needs at least {least_hops} dependent hops.")
    if not list_items(draft) and (";" in answer or "\n" in answer or len(answer.split()) > MOST_ANSWER_WORDS):
        raise FormatError("Give one entity, date or number as the answer, not a list or a sentence.")
    if not draft.graph.is_computed and contains(question, answer):
        raise FormatError("The question holds its answer.")


_ASKS_NO_FACT = re.compile(
    r"\s*(?:why|how(?:['’]s|\s+(?:do|does|did|is|are|was|were|has|have|had|can|could|will|would|shall|should|may|might|must"
    r"|to|come|exactly|else)))\b",
    re.IGNORECASE,
)
"""Matches "why", and "how" before a verb. Before other words "how" asks for a measure, as in "how often"."""


STRATEGY = Strategy(propose, sage.revise)
