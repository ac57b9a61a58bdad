"""The default strategy: the generator chooses the shape that the passages offer.

It explores from a passage and proposes an evidence graph, which a writer words afterwards. Links are a help and no
condition, so that every seed is begun.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import orjson

from pipeline import prompts
from pipeline.agents.agent import Agent, converse
from pipeline.agents.calls import AgentState
from pipeline.agents.graph_proposals import to_graph
from pipeline.agents.tools import GRAPH_TOOLS, LINKED_GRAPH_TOOLS, show_passage, show_sentence
from pipeline.config.loop import LIKE, SHORTEST_CHAIN
from pipeline.context import RunContext
from pipeline.corpus.train_eval_split import share
from pipeline.errors import FormatError
from pipeline.links.leads import Lead, find_leads
from pipeline.llm.token_estimate import tokens
from pipeline.loop.checks.base import CheckResult
from pipeline.loop.checks.closed_book import CONTESTED
from pipeline.loop.example_questions import choose_examples
from pipeline.loop.graph_review import review_graph
from pipeline.loop.question_writing import WrittenQuestion, write_question
from pipeline.loop.solve_rates import aim
from pipeline.loop.strategies.base import Proposal, Strategy, build_draft
from pipeline.loop.strategies.sage import describe_operations
from pipeline.operations import settle
from pipeline.types import Cause, Draft, Label, Message, Passage, Probe, Round, Seed, Stop, Trajectory, Usage, sha256
from pipeline.types.graph import Graph

SEARCHES, SEARCHES_PER_STEP = 24, 5
"""One conversation has 24 searches, or five for each step of the target if that is more."""
PROPOSALS = 3
"""Proposals of one conversation: the first and two repairs."""
WHOLE = 2
"""New passages that a search shows whole. Most of a generator's searches only need to know what is there."""
NEVER_CHAIN = 5
"""Graphs of `SHORTEST_CHAIN` found steps are chains, those of this many or more are not, and half of the others are."""
WINNERS = "named", "hidden"
"""What should win a choice among named and hidden things. Without a draw, generators let the hidden one win."""
GIVE_UP = '{"steps": []}'
_OUTLINE = 12
"""Passages of the seed's document whose first words are shown."""
_ROOM = 1_500
"""Tokens of the leads that are shown."""


async def propose(seed: Seed, context: RunContext) -> Proposal:
    target = aim(seed, context.config, ())
    least = _least_found(target, context)
    composer = _build_generator(seed, context, target, least)
    leads = _find_leads(seed, context)
    messages = context.prompt(
        "generator/compose",
        passage=show_passage(seed.passage, numbered=True),
        outline=await _outline(seed, context),
        leads=_fit(describe_leads(leads, seed.passage), _ROOM),
        searched_share=f"{share(seed.side):.0%}",
        operations=choose_operations(seed, target, context),
        winner=WINNERS[_draw(f"winner:{seed.place}") % len(WINNERS)],
        target_steps=target,
        least_steps=least,
        search_budget=composer.limits.searches,
        check_budget=PROPOSALS,
        calls_per_turn=composer.limits.calls_per_turn,
    )
    if examples := choose_examples(seed, context):
        messages = prompts.add_quoted(messages, LIKE, examples)
    own = {seed.passage.shown_id: seed.passage}
    lead_passages = {passage.shown_id: passage for lead in leads for passage in (lead.passage, lead.page)}
    return await _compose(composer, messages, AgentState(lead_passages | own, given=frozenset(own)), seed, context)


def choose_operations(seed: Seed, target: int, context: RunContext) -> list[str]:
    """Return the descriptions of operations for a seed: none for a chain, else all in an order of its own.

    Short chains read best and are guessed least, so half of the seeds get one. Examples decide instead if there are
    any. A long chain leaves so many things unnamed that it reads like a puzzle, and few corpora hold one.
    """
    draws_chain = not context.config.questions.like and _draw(f"chain:{seed.place}") % 2 == 0
    if target <= SHORTEST_CHAIN or (draws_chain and target < NEVER_CHAIN):
        return []
    return sorted(describe_operations(context), key=lambda description: sha256(f"{seed.place}\n{description}"))


def _draw(label: str) -> int:
    return int(sha256(label)[:8], 16)


async def revise(seed: Seed, context: RunContext, rounds: Sequence[Round]) -> Proposal:
    """Go on with the same conversation, so that the server keeps its prefix, and tell what the search agents did."""
    last = rounds[-1]
    if last.draft is None or last.feedback is None:
        raise ValueError("a round without a draft ends the episode")
    if last.feedback.label is Label.UNSOUND:
        if _needs_source(rounds):
            return await _reword(last.draft, last, seed, context)
        # A new seed costs less than mending a bad wording or unclear evidence.
        return Proposal(trajectory=Trajectory(messages=(), calls=(), stop=Stop.ANSWERED), draft=None)
    target = aim(seed, context.config, rounds)
    composer = _build_generator(seed, context, target, _least_found(target, context))
    message = Message(role="user", content=describe_rollouts(last, target))
    passages = {passage.shown_id: passage for passage in await _seen_passages(seed, context, rounds)}
    messages = _close_last_turn(last.agent.messages)
    return await _compose(composer, (*messages, message), AgentState(passages=passages), seed, context)


def _needs_source(rounds: Sequence[Round]) -> bool:
    """Return whether only the last draft was refused because its question names no source."""
    refusals = [{finding.check for finding in past.findings} == {CONTESTED} for past in rounds]
    return refusals[-1] and not any(refusals[:-1])


async def _reword(draft: Draft, last: Round, seed: Seed, context: RunContext) -> Proposal:
    """Have the writer mend the wording alone: the evidence is sound, and the generator's conversation is not needed."""
    graph, outcome = settle(draft.graph)
    refused = [{"wording": draft.question, "fault": finding.detail} for finding in last.findings]
    written = await write_question(graph, outcome, context, choose_examples(seed, context), refused)
    # A later revision goes on with the conversation, whose calls and tokens count in the round before.
    trajectory = last.agent.model_copy(update={"calls": (), "format_errors": 0, "usage": Usage()})
    return _build_proposal(trajectory, graph, written)


def _build_proposal(
    trajectory: Trajectory, graph: Graph, written: WrittenQuestion, checked: tuple[Probe, ...] = ()
) -> Proposal:
    return Proposal(
        trajectory=trajectory,
        draft=build_draft(graph, written.question) if written.question else None,
        checked=checked,
        review=CheckResult(findings=written.findings, probes=written.probes),
    )


def _least_found(target: int, context: RunContext) -> int:
    """Return the fewest found steps of a graph: its target, but at most one more than the range begins with."""
    config = context.config
    return min(target, config.steps[0] + 1) if config.accepts_by_range else target


def _build_generator(seed: Seed, context: RunContext, target: int, least: int) -> Agent:
    limits, side_links = context.config.generator, context.links.get(seed.side)
    searches = min(max(SEARCHES, SEARCHES_PER_STEP * target), limits.searches)

    def accept(arguments: str, state: AgentState) -> Graph | None:
        return to_graph(arguments, state.passages)

    async def check(arguments: str, state: AgentState) -> str:
        graph = to_graph(arguments, state.passages)
        if graph is None:
            raise FormatError("There are no steps to check.")
        passages = {passage.id: passage for passage in state.passages.values()}
        review = await review_graph(graph, least, passages, context)
        state.probes += review.probes
        if not review.problems:
            return ""
        lines = "\n".join(f"- {problem}" for problem in review.problems)
        return f"The graph cannot be used yet. This is all that is wrong with it:\n{lines}"

    return Agent(
        llm=context.llm,
        model=context.config.models.of("generator"),
        tools=LINKED_GRAPH_TOOLS if side_links else GRAPH_TOOLS,
        links=side_links.related if side_links else None,
        limits=limits.model_copy(update={"searches": searches}),
        retriever=context.side(seed.side),
        k=context.config.retrieval.k,
        accept=accept,
        author=limits.model_copy(update={"checks": PROPOSALS}),
        check=check,
        give_up=GIVE_UP,
        numbered=True,
        most_whole=WHOLE,
    )


async def _compose(
    composer: Agent, messages: tuple[Message, ...], state: AgentState, seed: Seed, context: RunContext
) -> Proposal:
    trajectory = await converse(composer, messages, sample=seed.draw, state=state)
    probes = tuple(state.probes)
    graph = to_graph(trajectory.final, state.passages) if trajectory.final else None
    if graph is None:
        return Proposal(trajectory=trajectory, draft=None, checked=probes)
    graph, outcome = settle(graph)
    written = await write_question(graph, outcome, context, choose_examples(seed, context))
    return _build_proposal(trajectory, graph, written, probes)


async def _outline(seed: Seed, context: RunContext) -> list[str]:
    passages = await context.side(seed.side).document(seed.passage.document_id)
    lines = [" ".join(passage.text.split()[:12]) for passage in passages if passage.id != seed.passage.id]
    return list(dict.fromkeys(lines))[:_OUTLINE]


def _find_leads(seed: Seed, context: RunContext) -> list[Lead]:
    links = context.links.get(seed.side)
    return find_leads(links, seed.passage) if links else []


def _fit(leads: list[dict[str, Any]], room: int) -> list[dict[str, Any]]:
    while len(leads) > 1 and tokens(orjson.dumps(leads).decode()) > room:
        leads = leads[:-1]
    return leads


def describe_leads(leads: Iterable[Lead], start: Passage) -> list[dict[str, Any]]:
    """Return for each lead the sentence that names a thing and one that tells of it. `start` is shown beside them."""

    def describe(passage: Passage, sentence: str) -> dict[str, str]:
        return {"id": passage.shown_id, "title": passage.title, "sentence": show_sentence(passage, sentence)}

    return [
        {
            "thing": lead.name,
            "named_by": describe(lead.passage, lead.sentence),
            "page": {"id": start.shown_id} if lead.page == start else describe(lead.page, lead.fact),
        }
        for lead in leads
    ]


async def _seen_passages(seed: Seed, context: RunContext, rounds: Sequence[Round]) -> list[Passage]:
    side = context.side(seed.side)
    ids = dict.fromkeys(i for past in rounds for call in past.agent.calls for i in call.passage_ids)
    passages = [passage for i in ids if (passage := await side.get(i))]
    return [seed.passage, *passages]


def _close_last_turn(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return a conversation in which the last call has its answer, so that another message may follow."""
    answered = {message.tool_call_id for message in messages}
    open_calls = [call for message in messages[-1:] for call in message.tool_calls if call.id not in answered]
    closing = [
        Message(role="tool", content="Taken. Search agents tried it.", tool_call_id=call.id, name=call.name)
        for call in open_calls
    ]
    return (*messages, *closing)


_MENDS = {
    Cause.PRIOR_KNOWLEDGE: "Take less known things.",
    Cause.RETRIEVAL_MISS: "Take facts whose passages a search for the words of their sub-questions returns.",
    Cause.SOLVER_ERROR: "Take facts that can be read in one way only.",
    Cause.AMBIGUOUS: "Take facts that can be read in one way only.",
    Cause.ABOVE_BAND: "Add a step that depends on the others.",
    Cause.BELOW_BAND: "Leave out a step.",
}


def describe_rollouts(last: Round, target: int) -> str:
    """Say by the ids of the steps what search agents did with the question, and what to change in the graph.

    Nothing is said of the wording: it is the writer's.
    """
    draft, feedback = last.draft, last.feedback
    if draft is None or feedback is None:
        raise ValueError("a round without a draft has nothing to tell")
    is_easy = feedback.label is Label.TOO_EASY
    verdict = "too easy: it needs fewer searches than are asked for" if is_easy else "not solved"
    lines = [f"A writer worded the graph: {draft.question}", f"The question is {verdict} ({target} are asked for)."]
    for rollout, graded in zip(last.rollouts, last.verdicts, strict=True):
        state = "right" if graded.correct else "wrong or unsupported"
        searches = "; ".join(
            f"'{call.argument}' returned {_cited_steps(draft.graph, call.passage_ids)}"
            for call in rollout.trajectory.calls
            if call.tool == "search"
        )
        lines.append(f"A search agent answered '{rollout.answer}' ({state}). Its searches: {searches or 'none'}.")
    mend = "Put a step before the facts that came up together, or ask for facts that many things have."
    lines.append(_MENDS.get(feedback.cause, mend if is_easy else _MENDS[Cause.SOLVER_ERROR]))
    lines.append("Keep what is sound. Propose a graph that mends this, or no steps.")
    return "\n".join(lines)


def _cited_steps(graph: Graph, passage_ids: Sequence[str]) -> str:
    ids = [f"'{step.id}'" for step in graph.found if step.citation.passage_id in passage_ids]
    return f"the passages of {', '.join(ids)}" if ids else "no cited passage"


STRATEGY = Strategy(propose, revise)
