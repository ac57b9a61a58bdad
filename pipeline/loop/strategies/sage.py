"""SAGE's generator and refiner (arXiv 2601.18202, §3): from a passage, by searching, to a question of S steps; then
again from the execution feedback. Unlike the paper's, both may have a draft checked before they give it, and the
refiner may search and sees every draft, what each check found and every rollout.
"""

from collections.abc import Callable, Sequence
from typing import Any, cast

from pipeline import prompts
from pipeline.agents.agent import Agent, converse
from pipeline.agents.calls import AgentState, LinksOf
from pipeline.agents.tools import CHECK, GENERATOR_TOOLS, REFINER_TOOLS, REVISE, REWRITE, for_answers, shown
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.llm.base import Tool
from pipeline.loop import history
from pipeline.loop.draft_check import check_draft
from pipeline.loop.solve_rates import aim, least_steps
from pipeline.loop.strategies.base import Proposal, to_draft
from pipeline.text import normalise
from pipeline.types import Draft, GradedRollout, Message, Round, Seed

Rule = Callable[[Draft], None]
"""What a strategy asks of every draft. Raises FormatError, written for the author."""


async def propose(seed: Seed, context: RunContext) -> Proposal:
    proposer = agent(seed, context, GENERATOR_TOOLS, context.config.generator.searches)
    messages = context.prompt(
        "generator/propose",
        passage=shown(seed.passage),
        answer_types=answer_types(seed, context),
        target_steps=aim(seed, context.config, ()),
        search_budget=proposer.limits.searches,
        check_budget=proposer.checks,
        calls_per_turn=proposer.limits.calls_per_turn,
    )
    given = {seed.passage.shown_id: seed.passage}
    return await run(proposer, messages, AgentState(passages=given, given=frozenset(given)), seed)


async def revise(
    seed: Seed, context: RunContext, rounds: Sequence[Round], reviser: Agent | None = None, notes: Sequence[str] = ()
) -> Proposal:
    """`reviser` and `notes`: who revises in the place of the usual one, and what else its prompt says."""
    reviser = reviser or agent(seed, context, REFINER_TOOLS, context.config.generator.searches, another(rounds))
    drafts, seen, state = await revision(seed, context, rounds, reviser)
    messages = context.prompt(
        "refiner/revise",
        drafts=drafts,
        seen=seen,
        answer_types=answer_types(seed, context),
        target_steps=aim(seed, context.config, rounds),
        search_budget=reviser.limits.searches,
        check_budget=reviser.checks,
        calls_per_turn=reviser.limits.calls_per_turn,
    )
    return await run(reviser, prompts.noted(messages, notes) if notes else messages, state, seed)


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
    return history.drafts(rounds, pairs, known), list(map(shown, whole)), state


def another(rounds: Sequence[Round]) -> Rule:
    """No question that was asked in one of the rounds."""
    tried = {normalise(past.draft.question) for past in rounds if past.draft}

    def rule(draft: Draft) -> None:
        if normalise(draft.question) in tried:
            raise FormatError("The question must differ from the draft and from the earlier ones.")

    return rule


def agent(
    seed: Seed,
    context: RunContext,
    tools: Sequence[Tool],
    searches: int,
    *rules: Rule,
    read: Callable[[str, AgentState], Draft | None] = to_draft,
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
        if draft.answer_type not in answer_types(seed, context):
            raise FormatError(f"An answer of the type '{draft.answer_type.value}' is not wanted.")
        return draft

    async def check(arguments: str, state: AgentState) -> str:
        draft = accepted(arguments, state)
        if draft is None:
            raise FormatError("There is nothing to check: question or hops are empty.")
        said, probes = await check_draft(draft, least_steps(seed, context.config), state.passages, context)
        state.probes += probes
        return said

    return Agent(
        llm=context.llm,
        model=context.config.models.of("refiner" if revises else "generator"),
        tools=tuple(tool for tool in for_answers(tools, seed.answer_type) if checks or tool.name != CHECK),
        limits=limits.model_copy(update={"searches": searches}),
        retriever=context.side(seed.side),
        k=context.config.retrieval.k,
        accept=accepted,
        author=limits,
        check=check if checks else None,
        links=links,
    )


def answer_types(seed: Seed, context: RunContext) -> list[str]:
    """Those that an answer may have, the wanted one first. One with rules of its own is only had where it is wanted."""
    others = [kind for kind in context.config.answer_types if kind.plain]
    return [kind.value for kind in dict.fromkeys([seed.answer_type, *others])]


async def run(author: Agent, messages: tuple[Message, ...], state: AgentState, seed: Seed) -> Proposal:
    """The author's conversation, from its prompt to its draft."""
    if not seed.answer_type.plain:
        messages = prompts.noted(messages, [f"{seed.answer_type.value}/_write"])
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
