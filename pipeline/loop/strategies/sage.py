"""SAGE's generator and refiner (arXiv 2601.18202, §3).

The generator searches from a passage and writes a question of S steps; the refiner revises it from the execution
feedback. Unlike in the paper, both can have a draft checked before they submit it. The refiner can search, and it sees
every draft, what each check found and every rollout.
"""

from collections.abc import Callable, Sequence
from typing import cast

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
from pipeline.loop.strategies.base import Proposal, Strategy, to_draft
from pipeline.operations import operation
from pipeline.text import normalise
from pipeline.types import Draft, GradedRollout, Message, Round, Seed

Rule = Callable[[Draft], None]
"""A condition that a strategy sets for every draft. Raises FormatError with a message for the generator."""


async def propose(seed: Seed, context: RunContext) -> Proposal:
    proposer = build_author(seed, context, GENERATOR_TOOLS, context.config.generator.searches)
    messages = context.prompt(
        "generator/propose",
        passage=show_passage(seed.passage, numbered=True),
        operations=describe_operations(context),
        target_steps=aim(seed, context.config, ()),
        search_budget=proposer.limits.searches,
        check_budget=proposer.checks,
        calls_per_turn=proposer.limits.calls_per_turn,
    )
    passages = {seed.passage.shown_id: seed.passage}
    return await write_draft(proposer, messages, AgentState(passages=passages, given=frozenset(passages)), seed)


async def revise(seed: Seed, context: RunContext, rounds: Sequence[Round]) -> Proposal:
    searches, rule = context.config.generator.searches, require_new_question(rounds)
    refiner = build_author(seed, context, REFINER_TOOLS, searches, rule)
    return await write_revision(refiner, "refiner/revise", seed, context, rounds)


async def write_revision(
    refiner: Agent, prompt: str, seed: Seed, context: RunContext, rounds: Sequence[Round], **inputs: str
) -> Proposal:
    """Run the conversation of a refiner, which is shown the earlier rounds and may cite every passage read in them.

    Args:
        refiner: the agent.
        prompt: the name of its prompt.
        seed: the seed.
        context: the run.
        rounds: the rounds so far; the last one has a draft.
        inputs: further inputs of the prompt.
    """
    last = rounds[-1]
    if last.draft is None:
        raise ValueError("a round without a draft ends the episode")
    rollouts = _choose_rollouts(last, context.config.loop.feedback_rollouts)
    read_passages = await history.load_seen_passages(seed, context, rounds, rollouts)
    limited, opens = refiner.room is not None, context.config.loop.refiner_searches
    full_passages = history.choose_full_passages(last.draft, read_passages, limited=limited, opens=opens)
    messages = context.prompt(
        prompt,
        drafts=history.describe_drafts(rounds, rollouts, read_passages),
        seen=[show_passage(passage, numbered=True) for passage in full_passages],
        operations=describe_operations(context),
        target_steps=aim(seed, context.config, rounds),
        search_budget=refiner.limits.searches,
        check_budget=refiner.checks,
        calls_per_turn=refiner.limits.calls_per_turn,
        **inputs,
    )
    passages = {passage.shown_id: passage for passage in read_passages.same_side.values()}
    state = AgentState(passages=passages, given=frozenset(passage.shown_id for passage in full_passages))
    return await write_draft(refiner, messages, state, seed)


def require_new_question(rounds: Sequence[Round]) -> Rule:
    earlier = {normalise(round_.draft.question) for round_ in rounds if round_.draft}

    def rule(draft: Draft) -> None:
        if normalise(draft.question) in earlier:
            raise FormatError("The question must differ from the draft and from the earlier ones.")

    return rule


def read_draft(arguments: str, state: AgentState) -> Draft | None:
    proposed = parse(WordedGraphArguments, arguments)
    return to_draft(proposed, proposed.question, state.passages)


def build_author(
    seed: Seed,
    context: RunContext,
    tools: Sequence[Tool],
    searches: int,
    *rules: Rule,
    read: Callable[[str, AgentState], Draft | None] = read_draft,
    links: LinksOf | None = None,
) -> Agent:
    """Build the generator, or the refiner if the last tool revises. It searches only its seed's side of the split.

    Args:
        seed: the seed.
        context: the run.
        tools: the tools, of which the last one submits the draft.
        searches: the most searches.
        rules: conditions for every draft.
        read: reads the draft from the arguments of a call; returns None if the agent gives up.
        links: finds linked passages, if the agent has a tool for that.
    """
    limits = context.config.generator
    revises = tools[-1] in (REVISE, REWRITE)
    if revises and not context.config.loop.refiner_searches:
        tools, searches = tools[-1:], 0
    checks = limits.checks > 0 and context.config.loop.audit and any(tool.name == CHECK for tool in tools)

    def accept(arguments: str, state: AgentState) -> Draft | None:
        if (draft := read(arguments, state)) is None:
            return None
        for rule in rules:
            rule(draft)
        return draft

    async def check(arguments: str, state: AgentState) -> str:
        draft = accept(arguments, state)
        if draft is None:
            raise FormatError("There is nothing to check: question or steps are empty.")
        # Unlike the agent's searches, the checks cover the whole index, as in the round.
        report, probes = await check_draft(draft, least_steps(seed, context.config), state.passages, context)
        state.probes += probes
        return report

    return Agent(
        llm=context.llm,
        model=context.config.models.of("refiner" if revises else "generator"),
        tools=tuple(tool for tool in tools if checks or tool.name != CHECK),
        limits=limits.model_copy(update={"searches": searches}),
        retriever=context.side(seed.side),
        k=context.config.retrieval.k,
        accept=accept,
        author=limits,
        check=check if checks else None,
        links=links,
        numbered=True,
    )


def describe_operations(context: RunContext) -> list[str]:
    return [operation(name).description for name in context.config.operations]


async def write_draft(author: Agent, messages: tuple[Message, ...], state: AgentState, seed: Seed) -> Proposal:
    trajectory = await converse(author, messages, sample=seed.draw, state=state)
    draft = cast(Draft | None, author.accept(trajectory.final, state)) if trajectory.final else None
    return Proposal(trajectory=trajectory, draft=draft, checked=tuple(state.probes))


def _choose_rollouts(last: Round, which: str) -> list[GradedRollout]:
    """Return all rollouts or, as in the paper, one: the shortest correct one, else the first with an answer."""
    rollouts = [*last.graded, *last.policy_graded]
    if which == "all" or not rollouts:
        return rollouts
    correct = sorted((graded for graded in rollouts if graded.verdict.correct), key=lambda graded: graded.verdict.steps)
    answered = [graded for graded in rollouts if graded.rollout.answer]
    return (correct or answered or rollouts)[:1]


STRATEGY = Strategy(propose, revise)
