"""SAGE's generator and refiner (arXiv 2601.18202, §3): from a passage, by searching, to a question of S steps; then
again from the execution feedback. Unlike the paper's, both may have a draft checked before they give it, and the
refiner may search and sees every draft, what each check found and every rollout.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

from pipeline.agents.agent import Agent, converse
from pipeline.agents.calls import AgentState, LinksOf
from pipeline.agents.graph_proposals import WordedGraphArguments
from pipeline.agents.parse import parse
from pipeline.agents.tools import CHECK, GENERATOR_TOOLS, REFINER_TOOLS, REVISE, REWRITE, show_passage
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.llm.base import Tool
from pipeline.loop import history
from pipeline.loop.draft_check import check_draft
from pipeline.loop.solve_rates import aim, least_steps
from pipeline.loop.strategies.base import Proposal, to_draft
from pipeline.operations import operation
from pipeline.text import normalise
from pipeline.types import Draft, GradedRollout, Message, Round, Seed

Rule = Callable[[Draft], None]
"""What a strategy asks of every draft. Raises FormatError, written for the author."""


async def propose(seed: Seed, context: RunContext) -> Proposal:
    proposer = agent(seed, context, GENERATOR_TOOLS, context.config.generator.searches)
    messages = context.prompt(
        "generator/propose",
        passage=show_passage(seed.passage, numbered=True),
        operations=offered(context),
        target_steps=aim(seed, context.config, ()),
        search_budget=proposer.limits.searches,
        check_budget=proposer.checks,
        calls_per_turn=proposer.limits.calls_per_turn,
    )
    given = {seed.passage.shown_id: seed.passage}
    return await run(proposer, messages, AgentState(passages=given, given=frozenset(given)), seed)


async def revise(seed: Seed, context: RunContext, rounds: Sequence[Round]) -> Proposal:
    reviser = agent(seed, context, REFINER_TOOLS, context.config.generator.searches, another(rounds))
    drafts, seen, state = await revision(seed, context, rounds, reviser)
    messages = context.prompt(
        "refiner/revise",
        drafts=drafts,
        seen=seen,
        operations=offered(context),
        target_steps=aim(seed, context.config, rounds),
        search_budget=reviser.limits.searches,
        check_budget=reviser.checks,
        calls_per_turn=reviser.limits.calls_per_turn,
    )
    return await run(reviser, messages, state, seed)


async def revision(
    seed: Seed, context: RunContext, rounds: Sequence[Round], reviser: Agent
) -> tuple[list[dict[str, Any]], list[dict[str, str]], AgentState]:
    """What a reviser is shown of the rounds so far: the drafts, and the passages that stand there whole; and the state
    that it begins in."""
    last = rounds[-1]
    if last.draft is None:
        raise ValueError("a round without a draft ends the episode")
    pairs = _traces(last, context.config.loop.feedback_rollouts)
    known = await history.read(seed, context, rounds, pairs)
    opens = context.config.loop.refiner_searches
    whole = history.whole(last.draft, known, limited=reviser.room is not None, opens=opens)
    state = AgentState(
        passages={passage.shown_id: passage for passage in known.own.values()},
        given=frozenset(passage.shown_id for passage in whole),
    )
    return history.drafts(rounds, pairs, known), [show_passage(passage, numbered=True) for passage in whole], state


def another(rounds: Sequence[Round]) -> Rule:
    """No question that was asked in one of the rounds."""
    tried = {normalise(past.draft.question) for past in rounds if past.draft}

    def rule(draft: Draft) -> None:
        if normalise(draft.question) in tried:
            raise FormatError("The question must differ from the draft and from the earlier ones.")

    return rule


def read_draft(arguments: str, state: AgentState) -> Draft | None:
    """Return the draft in the arguments of a call, or None if the generator gives up. Raises FormatError."""
    return to_draft(parse(WordedGraphArguments, arguments), state.passages)


def agent(
    seed: Seed,
    context: RunContext,
    tools: Sequence[Tool],
    searches: int,
    *rules: Rule,
    read: Callable[[str, AgentState], Draft | None] = read_draft,
    links: LinksOf | None = None,
) -> Agent:
    """Who proposes, revises or composes: it searches the side of its seed alone. A check covers the whole index, as the
    audit does."""
    limits = context.config.generator
    revises = tools[-1] in (REVISE, REWRITE)
    if revises and not context.config.loop.refiner_searches:
        tools, searches = tools[-1:], 0
    checks = limits.checks > 0 and context.config.loop.audit and any(tool.name == CHECK for tool in tools)

    def accepted(arguments: str, state: AgentState) -> Draft | None:
        if (draft := read(arguments, state)) is None:
            return None
        for rule in rules:
            rule(draft)
        return draft

    async def check(arguments: str, state: AgentState) -> str:
        draft = accepted(arguments, state)
        if draft is None:
            raise FormatError("There is nothing to check: question or steps are empty.")
        said, probes = await check_draft(draft, least_steps(seed, context.config), state.passages, context)
        state.probes += probes
        return said

    return Agent(
        llm=context.llm,
        model=context.config.models.of("refiner" if revises else "generator"),
        tools=tuple(tool for tool in tools if checks or tool.name != CHECK),
        limits=limits.model_copy(update={"searches": searches}),
        retriever=context.side(seed.side),
        k=context.config.retrieval.k,
        accept=accepted,
        author=limits,
        check=check if checks else None,
        links=links,
        numbered=True,
    )


def offered(context: RunContext) -> list[str]:
    """Return the descriptions of the operations that a run offers."""
    return [operation(name).description for name in context.config.operations]


async def run(author: Agent, messages: tuple[Message, ...], state: AgentState, seed: Seed) -> Proposal:
    """The author's conversation, from its prompt to its draft."""
    trajectory = await converse(author, messages, sample=seed.draw, state=state)
    draft = cast(Draft | None, author.accept(trajectory.final, state)) if trajectory.final else None
    return Proposal(trajectory=trajectory, draft=draft, checked=tuple(state.probes))


def _traces(last: Round, which: str) -> list[GradedRollout]:
    """Every rollout or, as in the paper, one: the shortest correct one, else the first with an answer."""
    pairs = history.graded(last)
    if which == "all" or not pairs:
        return pairs
    correct = sorted((pair for pair in pairs if pair.verdict.correct), key=lambda pair: pair.verdict.steps)
    answered = [pair for pair in pairs if pair.rollout.answer]
    return (correct or answered or pairs)[:1]
