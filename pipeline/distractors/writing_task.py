"""The input for writing a distractor: a hop, its query, and wrong answers of the same kind as the right one."""

from collections.abc import Iterable, Sequence

from pipeline.context import RunContext
from pipeline.distractors.entities import asked_nouns, first_sentence, head_nouns, is_dated, is_person, may_live
from pipeline.distractors.kinds import base
from pipeline.retrieval.base import Retriever
from pipeline.text import dates, numbers, strip_tag
from pipeline.text.names import contains, normalise
from pipeline.types import Draft, Passage

RIVALS = 8
STYLE = 3
_HITS = 30


def query(draft: Draft, index: int) -> str:
    """Return the search query of a hop: its sub-question, after its subject if the sub-question does not name it."""
    sub_question, about = draft.hops[index].sub_question, subject(draft, index)
    is_complete = not draft.hops[index].needs or contains(sub_question, about)
    return sub_question if is_complete else f"{about} {sub_question}"


def subject(draft: Draft, index: int) -> str:
    return strip_tag(draft.graph.subject(draft.graph.found[index]))


def _leap_back(draft: Draft, target: int, count: int) -> int | None:
    for _ in range(count):
        if not (needs := draft.hops[target].needs):
            return None
        target = needs[0]
    return target


def is_name(answer: str) -> bool:
    return not (dates(answer) or numbers(answer))


async def writing_task(draft: Draft, kind: str, target: int, context: RunContext) -> base.WritingTask | None:
    """Build the task for a distractor of that kind with a wrong answer to hop `target`.

    Return None if the hop gives a set, if the kind skips more hops than come before, or if the hop's passage is not in
    the corpus. Return None too if rules find that the passage may be about a living person; a reader that is a model
    judges the written distractor instead (`no_living_person`).
    """
    hop = _leap_back(draft, target, base.load(kind).skipped_hops)
    if hop is None or draft.graph.found[target].members:
        return None
    retriever, source_hop, target_hop = context.retriever, draft.hops[hop], draft.hops[target]
    source = await retriever.get(source_hop.passage_id)
    understands = context.config.models.of("reader").capabilities.understands
    passage_ids = source_hop.passage_id, target_hop.passage_id
    if source is None or (not understands and await may_concern_living(passage_ids, retriever)):
        return None
    return base.WritingTask(
        hop=hop,
        query=query(draft, hop),
        source=source,
        quote=source_hop.quote,
        sub_question=target_hop.sub_question,
        answer=target_hop.answer,
        rivals=await rivals(draft, target, retriever) if is_name(target_hop.answer) else (),
        style=await style(draft, hop, retriever),
        answers=right_answers(draft, target),
        excluded=tuple(_cited_documents(draft)),
    )


def right_answers(draft: Draft, target: int) -> tuple[str, ...]:
    gives_answer = draft.graph.found[target] is draft.graph.last
    return (*draft.hops[target].spellings, *(draft.answer_aliases if gives_answer else ()))


def _cited_documents(draft: Draft) -> set[str]:
    return {hop.passage_id.rpartition("#")[0] for hop in draft.hops}


async def style(draft: Draft, hop: int, retriever: Retriever) -> tuple[Passage, ...]:
    cited = _cited_documents(draft)
    best: dict[str, Passage] = {}
    for hit in await retriever.search(query(draft, hop), _HITS):
        if hit.passage.document_id not in cited:
            best.setdefault(hit.passage.document_id, hit.passage)
    return tuple(best.values())[:STYLE]


async def may_concern_living(passage_ids: Iterable[str], retriever: Retriever) -> bool:
    documents = [await retriever.document(passage_id.rpartition("#")[0]) for passage_id in passage_ids]
    return any(may_live(document[0].text) for document in documents if document)


async def rivals(draft: Draft, target: int, retriever: Retriever) -> tuple[Passage, ...]:
    """Return first passages about other things of the kind that hop `target` asks for, without living people.

    The kind is read from the first passage about the answer; if the corpus has none, from the sub-question.
    """
    answer, sub_question = draft.hops[target].answer, draft.hops[target].sub_question
    answer_passage = await opening(answer, retriever)
    nouns = (head_nouns(answer_passage.text) if answer_passage else frozenset()) or asked_nouns(sub_question)
    wants_person = is_person(answer_passage.text) if answer_passage else sub_question.startswith(("By whom ", "Who "))
    chain_names = {normalise(strip_tag(name)) for hop in draft.hops for name in (hop.title, hop.answer)}
    description = first_sentence(answer_passage.text) if answer_passage else sub_question
    same_kind, people = dict[str, Passage](), dict[str, Passage]()
    for passage in await _openings((description, " ".join((*sorted(nouns), answer))), retriever):
        name = normalise(strip_tag(passage.title))
        if name in chain_names or may_live(passage.text) or (wants_person and not is_dated(passage.text)):
            continue
        if head_nouns(passage.text) & nouns:
            same_kind.setdefault(name, passage)
        elif wants_person:
            people.setdefault(name, passage)
    return tuple((same_kind | people).values())[:RIVALS]


async def _openings(queries: Sequence[str], retriever: Retriever) -> list[Passage]:
    hits = [hit for query_hits in await retriever.search_many(queries, _HITS) for hit in query_hits]
    documents = [await retriever.document(i) for i in dict.fromkeys(hit.passage.document_id for hit in hits)]
    return [document[0] for document in documents if document]


async def opening(name: str, retriever: Retriever) -> Passage | None:
    for hit in await retriever.search(name, 10):
        if normalise(name) in (normalise(hit.passage.title), normalise(strip_tag(hit.passage.title))):
            passages = await retriever.document(hit.passage.document_id)
            return passages[0] if passages else None
    return None
