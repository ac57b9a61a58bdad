"""Questions that somebody brings, made harder with the same answer: the way of a seed of `digsite harden`.

The question is grounded as it stands. Where its documents are known and state it sentence by sentence that takes no
call; else the generator searches for the evidence. Then it goes through the loop as any draft, and what is sent back
the refiner words anew, with one operator: harder where it was too easy, plainer where nobody could solve it. Question
and answer of the grounding, and the answer of every wording, are put in here, so that no model can change them.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations, zip_longest
from typing import NamedTuple

from pipeline.agents.calls import AgentState
from pipeline.agents.graph_proposals import GraphArguments, RewriteArguments, build_graph, cite
from pipeline.agents.naming import mentions
from pipeline.agents.parse import parse
from pipeline.agents.tools import GROUND_TOOLS, LINKS, REWRITE_TOOLS, show_passage
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.loop.dates_and_numbers import counted, dated
from pipeline.loop.rival_answer import FILLERS
from pipeline.loop.solve_rates import aim
from pipeline.loop.strategies import sage
from pipeline.loop.strategies.base import Proposal, build_draft
from pipeline.operations import OperationError
from pipeline.reward.equality import equal
from pipeline.text import sentences, strip_tag, terms
from pipeline.text.names import normalise
from pipeline.types import AnswerType, Cause, Draft, Given, Label, Passage, Round, Seed, Stop, Trajectory
from pipeline.types.graph import FoundStep, Graph

AS_GIVEN = "given"
"""The origin of a question that stands as it was brought."""
_ORDERED, _SHOWN = 4, 8
"""Most documents of which every order is tried, and passages of known documents that a generator is shown."""
Named = Callable[[str], list[str]]
"""How a text names what it should: nothing where it does not."""


async def propose(seed: Seed, context: RunContext) -> Proposal:
    """The question as it stands, with its evidence; without one it ends as `ungrounded`."""
    given = context.given[seed.passage.id]
    documents = [await _read(one, context) for one in given.documents]
    if draft := _quoted(given, documents):
        return Proposal(trajectory=_unasked(Stop.ANSWERED), draft=draft)
    if not context.config.models.of("generator").capabilities.understands:
        return Proposal(trajectory=_unasked(Stop.UNGROUNDED), draft=None)
    known = _leading(given, documents)[:_SHOWN]
    author = sage.agent(seed, context, GROUND_TOOLS, context.config.generator.searches, read=partial(_grounded, given))
    messages = context.prompt(
        "generator/ground",
        question=given.question,
        answer=given.answer,
        answer_aliases=given.answer_aliases,
        evidence=[show_passage(passage, numbered=True) for passage in known],
        operations=sage.offered(context),
        search_budget=author.limits.searches,
        calls_per_turn=author.limits.calls_per_turn,
    )
    passages = {passage.shown_id: passage for passage in known}
    made = await sage.run(author, messages, AgentState(passages=passages, given=frozenset(passages)), seed)
    if made.draft is None and made.trajectory.stop in (Stop.ANSWERED, Stop.SEARCH_BUDGET):
        made = made.model_copy(update={"trajectory": made.trajectory.model_copy(update={"stop": Stop.UNGROUNDED})})
    return made


async def revise(seed: Seed, context: RunContext, rounds: Sequence[Round]) -> Proposal:
    """The question in other words; none from a model that works by rules."""
    if not context.config.models.of("refiner").capabilities.understands:
        return Proposal(trajectory=_unasked(Stop.ANSWERED), draft=None)
    given, back = context.given[seed.passage.id], rounds[-1].feedback
    easier = ":reversed" if back and (back.label is Label.UNSOLVED or back.cause is Cause.AMBIGUOUS) else ""
    read = partial(_rewritten, given, rounds[-1].draft, easier)
    found, searches = context.links.get(seed.side), context.config.generator.searches
    links = (lambda passage, each: found.related(passage, each=each)) if found else None
    tools = (LINKS, *REWRITE_TOOLS) if links else REWRITE_TOOLS
    author = sage.agent(seed, context, tools, searches, sage.another(rounds), read=read, links=links)
    drafts, seen, state = await sage.revision(seed, context, rounds, author)
    messages = context.prompt(
        "refiner/harden",
        original=given.question,
        drafts=drafts,
        seen=seen,
        operations=sage.offered(context),
        target_steps=aim(seed, context.config, rounds),
        search_budget=author.limits.searches,
        check_budget=author.checks,
        calls_per_turn=author.limits.calls_per_turn,
    )
    return await sage.run(author, messages, state, seed)


def _grounded(given: Given, arguments: str, state: AgentState) -> Draft | None:
    return _draft(given, given.question, AS_GIVEN, parse(GraphArguments, arguments), state)


def _rewritten(given: Given, before: Draft | None, easier: str, arguments: str, state: AgentState) -> Draft | None:
    """With the operator that the author names, unless it leads over a document that the wording before did not."""
    made = parse(RewriteArguments, arguments)
    draft = _draft(given, made.question, f"{made.operator}{easier}", made, state)
    led = {hop.passage_id for hop in before.hops} if before else set()
    if draft is None or easier or led.issuperset(hop.passage_id for hop in draft.hops):
        return draft
    return draft.model_copy(update={"origin": "link"})


def _draft(given: Given, question: str, origin: str, proposed: GraphArguments, state: AgentState) -> Draft | None:
    """Return the draft of a proposal, or None if the generator gives up.

    Raises FormatError if the steps form no graph, or lead to another answer.
    """
    graph = build_graph(proposed, state.passages)
    if graph is None or not question.strip():
        return None
    try:
        draft = _keep_answer(given, graph, question, origin)
    except OperationError as error:
        raise FormatError(f"{error}.") from error
    if not _same(draft.answer, given):
        raise FormatError(f"The answer stays '{given.answer}': the last step must give it.")
    return draft


def _keep_answer(given: Given, graph: Graph, question: str, origin: str) -> Draft:
    """Return the draft of a graph whose answer is spelled as the corpus has it, with the given spellings as aliases."""
    draft = build_draft(graph, question, answer_type=given.answer_type, origin=origin)
    others = tuple(name for name in given.spellings if normalise(name) != normalise(draft.answer))
    return draft.model_copy(update={"answer_aliases": others})


async def _read(ids: frozenset[str], context: RunContext) -> list[Passage]:
    return [passage for key in sorted(ids) for passage in await context.retriever.document(key)]


def _quoted(given: Given, documents: Sequence[Sequence[Passage]]) -> Draft | None:
    """The question with a quote from each of its documents, in the first order in which each names the title of the
    next and the last states the answer; none where there is no such order, or more than quotes decides the answer."""
    if not documents or not given.answer_type.plain or len(documents) > _ORDERED or not all(documents):
        return None
    for chain in permutations(documents):
        ends: list[Named] = [*(partial(_titles, [after]) for after in chain[1:]), partial(_spelled, given)]
        found = [_sentence(given, document, names) for document, names in zip(chain, ends, strict=True)]
        holding = [sentence for sentence in found if sentence]
        if len(holding) == len(chain):
            steps = [_step(place, *sentence) for place, sentence in enumerate(holding)]
            steps[-1] = steps[-1].model_copy(update={"sub_question": given.question})
            return _keep_answer(given, Graph(steps=tuple(steps)), given.question, AS_GIVEN)
    return None


def _step(place: int, passage: Passage, number: int, answer: str) -> FoundStep:
    """Return a step whose question nobody wrote."""
    return FoundStep(
        id=f"step{place}",
        sub_question=f"What does “{strip_tag(passage.title)}” lead to?",
        answer=answer,
        needs=(f"step{place - 1}",) if place else (),
        citation=cite(passage, (number,)),
    )


def _leading(given: Given, documents: Sequence[Sequence[Passage]]) -> list[Passage]:
    """Their passages in turn, of each document those first that state the answer or name another one."""
    ordered = []
    for document in documents:
        others = [other for other in documents if other and other is not document]
        ends = partial(_titles, others), partial(_spelled, given)
        ordered.append(sorted(document, key=lambda passage: not any(end(passage.text) for end in ends)))
    return [passage for turn in zip_longest(*ordered) for passage in turn if passage]


def _sentence(given: Given, passages: Sequence[Passage], named: Named) -> tuple[Passage, int, str] | None:
    """The sentence that names what it should, and how it does; of several the first that shares most words with the
    question: a year or a small number stands in many."""
    asked = {*terms(given.question)} - FILLERS
    found = max(_holding(passages, named), key=lambda one: len(asked.intersection(terms(one.text))), default=None)
    return (found.passage, found.number, found.name) if found else None


class _Holding(NamedTuple):
    """A sentence that names what it should."""

    passage: Passage
    number: int
    """The number of the sentence in its passage, from 1."""
    text: str
    name: str


def _holding(passages: Sequence[Passage], named: Named) -> Iterator[_Holding]:
    for passage in passages:
        for number, (start, end) in enumerate(sentences(passage.text), 1):
            for name in named(passage.text[start:end])[:1]:
                yield _Holding(passage, number, passage.text[start:end], name)


def _titles(documents: Sequence[Sequence[Passage]], text: str) -> list[str]:
    """Of these documents the titles that a text names."""
    return [title for one in documents if mentions(text, title := strip_tag(one[0].title))]


def _spelled(given: Given, text: str) -> list[str]:
    """The answer as a text states it: a date or number in whatever form. A number that is a part of another, as of
    12,000 or of a date, states nothing."""
    number, date = given.answer_type is AnswerType.NUMBER, given.answer_type is AnswerType.DATE
    spans = [one.span for one in (counted(text) if number else dated(text) if date else ())]
    written = [said for start, end in spans if _same(said := text[start:end], given)]
    return written if number else [*written, *(name for name in given.spellings if mentions(text, name))]


def _same(found: str, given: Given) -> bool:
    """Is it the answer, in whatever form, and no more exact?"""
    return any(equal(found, [name]) and equal(name, [found]) for name in given.spellings)


def _unasked(stop: Stop) -> Trajectory:
    """The trace of an author that no model was asked for."""
    return Trajectory(messages=(), calls=(), stop=stop)
