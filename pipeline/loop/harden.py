"""`digsite harden`: questions that a user brings, made harder without changing the answer.

The question is grounded first: its steps are found in the corpus. If its documents are known and their sentences lead
from one to the next and to the answer, that takes no call; else the generator searches for the evidence. Then the
question goes through the loop like any draft. If it is sent back, the refiner rewords it with one operator: harder if
it was too easy, plainer if it was not solved. The code sets the grounded question, and the answer of every wording, so
that no model can change them.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import permutations, zip_longest
from typing import NamedTuple

from pipeline.agents.calls import AgentState
from pipeline.agents.graph_proposals import GraphArguments, RewriteArguments, cite
from pipeline.agents.name_matching import mentions
from pipeline.agents.parse import parse
from pipeline.agents.tools import GROUND_TOOLS, LINKS, REWRITE_TOOLS, show_passage
from pipeline.context import RunContext
from pipeline.errors import FormatError
from pipeline.loop.dates_and_numbers import find_dates, find_numbers
from pipeline.loop.rival_answer import FILLERS
from pipeline.loop.strategies import sage
from pipeline.loop.strategies.base import Proposal, Strategy, build_draft, to_draft
from pipeline.reward.equality import equal
from pipeline.text import sentences, strip_tag, terms
from pipeline.text.names import normalise
from pipeline.types import AnswerType, Cause, Draft, Given, Label, Passage, Round, Seed, Stop, Trajectory
from pipeline.types.graph import FoundStep, Graph

AS_GIVEN = "given"
"""The origin of a question in the user's own words."""
_MOST_ORDERED = 4
"""The most documents of which every order is tried."""
_MOST_SHOWN = 8
"""The most passages of known documents that the generator is shown."""
FindNames = Callable[[str], list[str]]
"""Return the names in a text that lead on: to the next document, or to the answer."""


async def propose(seed: Seed, context: RunContext) -> Proposal:
    """Propose the user's question with its evidence. It ends as `ungrounded` if the corpus has none."""
    original = context.given[seed.passage.id]
    documents = [await _load_passages(ids, context) for ids in original.documents]
    if draft := _quote_documents(original, documents):
        return Proposal(trajectory=_empty_trajectory(Stop.ANSWERED), draft=draft)
    if not context.config.models.of("generator").capabilities.understands:
        return Proposal(trajectory=_empty_trajectory(Stop.UNGROUNDED), draft=None)
    evidence = _order_passages(original, documents)[:_MOST_SHOWN]
    searches, read = context.config.generator.searches, partial(_read_grounding, original)
    author = sage.build_author(seed, context, GROUND_TOOLS, searches, read=read)
    messages = context.prompt(
        "generator/ground",
        question=original.question,
        answer=original.answer,
        answer_aliases=original.answer_aliases,
        evidence=[show_passage(passage, numbered=True) for passage in evidence],
        operations=sage.describe_operations(context),
        search_budget=author.limits.searches,
        calls_per_turn=author.limits.calls_per_turn,
    )
    passages = {passage.shown_id: passage for passage in evidence}
    state = AgentState(passages=passages, given=frozenset(passages))
    proposal = await sage.write_draft(author, messages, state, seed)
    trajectory = proposal.trajectory
    if proposal.draft is None and trajectory.stop in (Stop.ANSWERED, Stop.SEARCH_BUDGET):
        trajectory = trajectory.model_copy(update={"stop": Stop.UNGROUNDED})
    return proposal.model_copy(update={"trajectory": trajectory})


async def revise(seed: Seed, context: RunContext, rounds: Sequence[Round]) -> Proposal:
    if not context.config.models.of("refiner").capabilities.understands:
        return Proposal(trajectory=_empty_trajectory(Stop.ANSWERED), draft=None)
    original, feedback = context.given[seed.passage.id], rounds[-1].feedback
    is_too_hard = feedback and (feedback.label is Label.UNSOLVED or feedback.cause is Cause.AMBIGUOUS)
    read = partial(_read_rewriting, original, rounds[-1].draft, ":reversed" if is_too_hard else "")
    side_links, searches = context.links.get(seed.side), context.config.generator.searches
    links = side_links.related if side_links else None
    tools = (LINKS, *REWRITE_TOOLS) if links else REWRITE_TOOLS
    rule = sage.require_new_question(rounds)
    refiner = sage.build_author(seed, context, tools, searches, rule, read=read, links=links)
    return await sage.write_revision(refiner, "refiner/harden", seed, context, rounds, original=original.question)


def _read_grounding(original: Given, arguments: str, state: AgentState) -> Draft | None:
    return _build_draft(original, original.question, AS_GIVEN, parse(GraphArguments, arguments), state)


def _read_rewriting(
    original: Given, before: Draft | None, suffix: str, arguments: str, state: AgentState
) -> Draft | None:
    """Return the reworded draft. Its origin is the author's operator, or `link` if it cites a new document.

    Args:
        original: the user's question.
        before: the last draft.
        suffix: the end of the origin: `:reversed` if the question is to become easier, which no link does.
        arguments: the arguments of the author's call.
        state: the author's state.
    """
    rewriting = parse(RewriteArguments, arguments)
    draft = _build_draft(original, rewriting.question, f"{rewriting.operator}{suffix}", rewriting, state)
    cited_before = {hop.passage_id for hop in before.hops} if before else set()
    if draft is None or suffix or cited_before.issuperset(hop.passage_id for hop in draft.hops):
        return draft
    return draft.model_copy(update={"origin": "link"})


def _build_draft(
    original: Given, question: str, origin: str, proposed: GraphArguments, state: AgentState
) -> Draft | None:
    """Return the draft of a proposal, or None if the generator gives up.

    Raises:
        FormatError: the steps form no graph, or lead to another answer.
    """
    answer_type = original.answer_type
    draft = to_draft(proposed, question, state.passages, answer_type=answer_type, origin=origin)
    if draft is None:
        return None
    if not _is_answer(draft.answer, original):
        raise FormatError(f"The answer stays '{original.answer}': the last step must give it.")
    return _add_spellings(draft, original)


def _add_spellings(draft: Draft, original: Given) -> Draft:
    """Keep the corpus's spelling of the answer, and add the user's spellings as aliases."""
    aliases = tuple(name for name in original.spellings if normalise(name) != normalise(draft.answer))
    return draft.model_copy(update={"answer_aliases": aliases})


async def _load_passages(ids: frozenset[str], context: RunContext) -> list[Passage]:
    return [passage for document_id in sorted(ids) for passage in await context.retriever.document(document_id)]


def _quote_documents(original: Given, documents: Sequence[Sequence[Passage]]) -> Draft | None:
    """Build a draft with a quote from each of the question's documents.

    They are taken in the first order in which each one names the title of the next, and the last states the answer.
    Return None if there is no such order, or if quotes alone do not decide the answer.
    """
    if not documents or not original.answer_type.plain or len(documents) > _MOST_ORDERED or not all(documents):
        return None
    for chain in permutations(documents):
        targets: list[FindNames] = [
            *(partial(_find_titles, [following]) for following in chain[1:]),
            partial(_find_spellings, original),
        ]
        chosen = [
            sentence
            for document, find_names in zip(chain, targets, strict=True)
            if (sentence := _find_sentence(original, document, find_names))
        ]
        if len(chosen) == len(chain):
            steps = [_build_step(index, sentence) for index, sentence in enumerate(chosen)]
            steps[-1] = steps[-1].model_copy(update={"sub_question": original.question})
            graph, answer_type = Graph(steps=tuple(steps)), original.answer_type
            draft = build_draft(graph, original.question, answer_type=answer_type, origin=AS_GIVEN)
            return _add_spellings(draft, original)
    return None


class _NamingSentence(NamedTuple):
    """A sentence with a name that leads on."""

    passage: Passage
    number: int
    """The number of the sentence in its passage, from 1."""
    text: str
    name: str


def _build_step(index: int, sentence: _NamingSentence) -> FoundStep:
    return FoundStep(
        id=f"step{index}",
        sub_question=f"What does “{strip_tag(sentence.passage.title)}” lead to?",
        answer=sentence.name,
        needs=(f"step{index - 1}",) if index else (),
        citation=cite(sentence.passage, (sentence.number,)),
    )


def _order_passages(original: Given, documents: Sequence[Sequence[Passage]]) -> list[Passage]:
    ordered = []
    for document in documents:
        remaining = [candidate for candidate in documents if candidate and candidate is not document]
        targets = partial(_find_titles, remaining), partial(_find_spellings, original)
        ordered.append(sorted(document, key=lambda passage: not any(find(passage.text) for find in targets)))
    return [passage for turn in zip_longest(*ordered) for passage in turn if passage]


def _find_sentence(original: Given, passages: Sequence[Passage], find_names: FindNames) -> _NamingSentence | None:
    """Return the sentence that leads on and shares the most words with the question.

    The name alone does not identify it: a year or a small number is in many sentences.
    """
    question_terms = {*terms(original.question)} - FILLERS
    return max(
        _find_naming_sentences(passages, find_names),
        key=lambda sentence: len(question_terms.intersection(terms(sentence.text))),
        default=None,
    )


def _find_naming_sentences(passages: Sequence[Passage], find_names: FindNames) -> Iterator[_NamingSentence]:
    for passage in passages:
        for number, (start, end) in enumerate(sentences(passage.text), 1):
            for name in find_names(passage.text[start:end])[:1]:
                yield _NamingSentence(passage, number, passage.text[start:end], name)


def _find_titles(documents: Sequence[Sequence[Passage]], text: str) -> list[str]:
    return [title for document in documents if mentions(text, title := strip_tag(document[0].title))]


def _find_spellings(original: Given, text: str) -> list[str]:
    """Return the answer as a text states it; a date or number may have any form.

    A number that is part of another number or of a date does not count, such as 12 in 12,000.
    """
    is_number, is_date = original.answer_type is AnswerType.NUMBER, original.answer_type is AnswerType.DATE
    matches = find_numbers(text) if is_number else find_dates(text) if is_date else ()
    values = [
        value for start, end in (match.span for match in matches) if _is_answer(value := text[start:end], original)
    ]
    return values if is_number else [*values, *(name for name in original.spellings if mentions(text, name))]


def _is_answer(text: str, original: Given) -> bool:
    """Return whether a text is the answer in any form, and neither more nor less exact."""
    return any(equal(text, [name]) and equal(name, [text]) for name in original.spellings)


def _empty_trajectory(stop: Stop) -> Trajectory:
    return Trajectory(messages=(), calls=(), stop=stop)


STRATEGY = Strategy(propose, revise)
