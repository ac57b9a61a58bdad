"""The generator chooses the shape that the passages offer: it explores from a passage and proposes an evidence graph,
which a writer words afterwards. Links are a help and no condition, so that every seed is begun.
"""

from collections.abc import Sequence

from pipeline.agents.agent import Agent, converse
from pipeline.agents.calls import AgentState
from pipeline.agents.graph_proposals import to_graph
from pipeline.agents.tools import GRAPH_TOOLS, listed, number_sentences, shown
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.links.offered_walks import Related, related
from pipeline.loop.checks.base import CheckResult
from pipeline.loop.graph_review import GraphReview, review_graph
from pipeline.loop.question_writing import write_question
from pipeline.loop.solve_rates import aim
from pipeline.loop.strategies import walk
from pipeline.loop.strategies.base import Proposal
from pipeline.operations import Computation, evaluate, operations
from pipeline.text import dates
from pipeline.types import AnswerItem, AnswerType, Draft, Label, Message, Passage, Round, Seed, Stop, Trajectory
from pipeline.types.graph import Graph
from pipeline.types.question import to_hop
from pipeline.values.interval import read_interval

SEARCHES = 24
PROPOSALS = 3
"""Proposals of one conversation: the first and two repairs."""
GIVE_UP = '{"steps": []}'
_OUTLINE = 12
"""Passages of the seed's document whose first words are shown."""
_PHRASES, _EACH, _ROOM = 6, 3, 1_500
"""Linking phrases that are shown, documents of each, and tokens of all."""


async def propose(seed: Seed, context: RunContext) -> Proposal:
    target = aim(seed, context.config, ())
    composer = _build_generator(seed, context, target)
    links = _links(seed, context)
    messages = context.prompt(
        "generator/compose",
        passage=shown(seed.passage) | {"text": number_sentences(seed.passage.text)},
        outline=await _outline(seed, context),
        links=walk.fitting(listed(links), _ROOM),
        operations=[each.description for each in operations().values() if each.is_offered],
        target_steps=target,
        search_budget=composer.limits.searches,
        check_budget=PROPOSALS,
        calls_per_turn=composer.limits.calls_per_turn,
    )
    own = {seed.passage.shown_id: seed.passage}
    shown_links = {passage.shown_id: passage for link in links for passage in link.passages}
    return await _compose(composer, messages, AgentState(shown_links | own, given=frozenset(own)), seed, context)


async def revise(seed: Seed, context: RunContext, rounds: Sequence[Round]) -> Proposal:
    """Go on with the same conversation, so that the server keeps its prefix, and tell what the search agents did."""
    last = rounds[-1]
    if last.draft is None or last.feedback is None:
        raise ValueError("a round without a draft ends the episode")
    if last.feedback.label is Label.UNSOUND:  # a new seed costs less than mending a bad wording or unclear evidence
        return Proposal(trajectory=Trajectory(messages=(), calls=(), stop=Stop.ANSWERED), draft=None)
    target = aim(seed, context.config, rounds)
    composer = _build_generator(seed, context, target)
    told = Message(role="user", content=f"{_describe_rollouts(last)}\nPropose a graph that mends this, or no steps.")
    passages = {passage.shown_id: passage for passage in await _seen_passages(seed, context, rounds)}
    messages = _close_last_turn(last.agent.messages)
    return await _compose(composer, (*messages, told), AgentState(passages=passages), seed, context)


def _build_generator(seed: Seed, context: RunContext, target: int) -> Agent:
    limits = context.config.generator

    def accept(arguments: str, state: AgentState) -> Graph | None:
        return to_graph(arguments, state.passages)

    async def check(arguments: str, state: AgentState) -> str:
        graph = to_graph(arguments, state.passages)
        if graph is None:
            raise FormatError("There are no steps to check.")
        review = await _review(graph, target, state, context)
        state.probes += review.probes
        if not review.problems:
            return ""
        lines = "\n".join(f"- {problem}" for problem in review.problems)
        return f"The graph cannot be used yet:\n{lines}"

    return Agent(
        llm=context.llm,
        model=context.config.models.of("generator"),
        tools=GRAPH_TOOLS,
        limits=limits.model_copy(update={"searches": min(SEARCHES, limits.searches)}),
        retriever=context.side(seed.side),
        k=context.config.retrieval.k,
        accept=accept,
        author=limits.model_copy(update={"checks": PROPOSALS}),
        check=check,
        give_up=GIVE_UP,
        numbered=True,
    )


async def _review(graph: Graph, target: int, state: AgentState, context: RunContext) -> GraphReview:
    passages = {passage.id: passage for passage in state.passages.values()}
    return await review_graph(graph, target, passages, context)


async def _compose(
    composer: Agent, messages: tuple[Message, ...], state: AgentState, seed: Seed, context: RunContext
) -> Proposal:
    trajectory = await converse(composer, messages, sample=seed.draw, state=state)
    probes = tuple(state.probes)
    graph = to_graph(trajectory.final, state.passages) if trajectory.final else None
    if graph is None:
        return Proposal(trajectory=trajectory, draft=None, checked=probes)
    outcomes = evaluate(graph)
    graph = graph.with_answers({step_id: outcome.answer for step_id, outcome in outcomes.items()})
    outcome = outcomes.get(graph.last.id)
    written = await write_question(graph, outcome, context)
    return Proposal(
        trajectory=trajectory,
        draft=to_draft(graph, outcome, written.question) if written.question else None,
        checked=probes,
        review=CheckResult(findings=written.findings, probes=written.probes),
    )


def to_draft(graph: Graph, outcome: Computation | None, question: str) -> Draft:
    """Return the draft of a worded graph, whose hops are its found steps."""
    answer_type = outcome.answer_type if outcome else _stated_type(graph.answer)
    items = outcome.items if outcome else ()
    day = dates(graph.answer) if answer_type is AnswerType.DATE else []
    return Draft(
        question=question,
        answer=graph.answer,
        answer_aliases=graph.last.answer_aliases,
        answer_type=answer_type,
        answer_items=tuple(AnswerItem(answer=item) for item in items),
        answer_precision=day[0].precision if day else "",
        hops=tuple(map(to_hop, graph.found)),
        family="graph",
        graph=graph,
    )


def _stated_type(answer: str) -> AnswerType:
    interval = read_interval(answer)
    if interval is None:
        return AnswerType.ENTITY
    return AnswerType.DATE if interval.kind == "date" else AnswerType.NUMBER


async def _outline(seed: Seed, context: RunContext) -> list[str]:
    """Return the first words of the passages of the seed's document."""
    passages = await context.side(seed.side).document(seed.passage.document_id)
    lines = [" ".join(passage.text.split()[:12]) for passage in passages if passage.id != seed.passage.id]
    return list(dict.fromkeys(lines))[:_OUTLINE]


def _links(seed: Seed, context: RunContext) -> list[Related]:
    walks = context.walks.get(seed.side)
    place = walks.links.corpus.place(seed.passage.id) if walks else None
    if walks is None or place is None:
        return []
    return related(walks, place, _PHRASES, _EACH)


async def _seen_passages(seed: Seed, context: RunContext, rounds: Sequence[Round]) -> list[Passage]:
    """Return the passages that the generator was shown in earlier rounds."""
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


def _describe_rollouts(last: Round) -> str:
    """Say what search agents did with the question, for the generator."""
    assert last.draft is not None and last.feedback is not None  # noqa: S101, PT018 - checked by the caller
    lines = [f"The question was: {last.draft.question}", f"It was sent back: {last.feedback.message}"]
    for rollout, verdict in zip(last.rollouts, last.verdicts, strict=True):
        queries = "; ".join(f"'{call.argument}'" for call in rollout.trajectory.calls if call.tool == "search")
        state = "right" if verdict.correct else "wrong or unsupported"
        lines.append(f"A search agent answered '{rollout.answer}' ({state}) after the searches {queries}.")
    return "\n".join(lines)
