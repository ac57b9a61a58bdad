"""What a distractor is written from: a hop, the query that finds it, and wrong answers of the right answer's kind."""

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
    """The search that a hop asks for: its sub-question, with its subject where the sub-question does not name it."""
    asked, about = draft.hops[index].sub_question, subject(draft, index)
    return asked if not draft.hops[index].needs or contains(asked, about) else f"{about} {asked}"


def subject(draft: Draft, index: int) -> str:
    """Return what a hop is about."""
    return strip_tag(draft.graph.subject(draft.graph.found[index]))


def _leap_back(draft: Draft, target: int, count: int) -> int | None:
    """Return the hop that stands so many hops before another one, or None if there are not so many."""
    for _ in range(count):
        if not (needs := draft.hops[target].needs):
            return None
        target = needs[0]
    return target


def is_name(answer: str) -> bool:
    """Is it neither a date nor a number?"""
    return not (dates(answer) or numbers(answer))


async def writing_task(draft: Draft, kind: str, target: int, context: RunContext) -> base.WritingTask | None:
    """The task for a distractor of that kind that gets the answer of hop `target` wrong.

    None where that kind leaps over more hops than its chain has before it, and where the hop's passage is not in the
    corpus, or may be about someone who is alive, as far as rules can tell; a reader that understands is asked of what
    was written instead (`no_living_person`).
    """
    if (hop := _leap_back(draft, target, base.load(kind).skipped_hops)) is None:
        return None
    retriever, stated, claimed = context.retriever, draft.hops[hop], draft.hops[target]
    source = await retriever.get(stated.passage_id)
    understands = context.config.models.of("reader").capabilities.understands
    if source is None or (not understands and await living((stated.passage_id, claimed.passage_id), retriever)):
        return None
    return base.WritingTask(
        hop=hop,
        query=query(draft, hop),
        source=source,
        quote=stated.quote,
        asked=claimed.sub_question,
        answer=claimed.answer,
        rivals=await rivals(draft, target, retriever) if is_name(claimed.answer) else (),
        style=await style(draft, hop, retriever),
        answers=right_answers(draft, target),
        excluded=tuple(_documents(draft)),
    )


def right_answers(draft: Draft, target: int) -> tuple[str, ...]:
    """The spellings of the answer of a hop; of the last one those of the question too."""
    gives_answer = draft.graph.found[target] is draft.graph.last
    return (*draft.hops[target].spellings, *(draft.answer_aliases if gives_answer else ()))


def _documents(draft: Draft) -> set[str]:
    """Those that the draft cites."""
    return {cited.passage_id.rpartition("#")[0] for cited in draft.hops}


async def style(draft: Draft, hop: int, retriever: Retriever) -> tuple[Passage, ...]:
    """The best passages that the hop's query finds in documents of which the draft cites none."""
    cited = _documents(draft)
    best: dict[str, Passage] = {}
    for hit in await retriever.search(query(draft, hop), _HITS):
        if hit.passage.document_id not in cited:
            best.setdefault(hit.passage.document_id, hit.passage)
    return tuple(best.values())[:STYLE]


async def living(passage_ids: Iterable[str], retriever: Retriever) -> bool:
    """May one of the documents be about someone who is alive?"""
    documents = [await retriever.document(passage_id.rpartition("#")[0]) for passage_id in passage_ids]
    return any(may_live(document[0].text) for document in documents if document)


async def rivals(draft: Draft, target: int, retriever: Retriever) -> tuple[Passage, ...]:
    """First passages about things of the kind that hop `target` asks for, outside the chain, without living people.

    The kind is read from the answer's own first passage; where the corpus has none, from the sub-question.
    """
    answer, asked = draft.hops[target].answer, draft.hops[target].sub_question
    known = await opening(answer, retriever)
    nouns = (head_nouns(known.text) if known else frozenset()) or asked_nouns(asked)
    person = is_person(known.text) if known else asked.startswith(("By whom ", "Who "))
    taken = {normalise(strip_tag(name)) for hop in draft.hops for name in (hop.title, hop.answer)}
    first = first_sentence(known.text) if known else asked
    same, people = dict[str, Passage](), dict[str, Passage]()
    for head in await _openings((first, " ".join((*sorted(nouns), answer))), retriever):
        name = normalise(strip_tag(head.title))
        if name in taken or may_live(head.text) or (person and not is_dated(head.text)):
            continue
        if head_nouns(head.text) & nouns:
            same.setdefault(name, head)
        elif person:
            people.setdefault(name, head)
    return tuple((same | people).values())[:RIVALS]


async def _openings(queries: Sequence[str], retriever: Retriever) -> list[Passage]:
    """The first passages of the documents that the queries find."""
    hits = [hit for found in await retriever.search_many(queries, _HITS) for hit in found]
    documents = [await retriever.document(i) for i in dict.fromkeys(hit.passage.document_id for hit in hits)]
    return [document[0] for document in documents if document]


async def opening(name: str, retriever: Retriever) -> Passage | None:
    """The first passage of the document of that name, if the corpus has one."""
    for hit in await retriever.search(name, 10):
        if normalise(name) in (normalise(hit.passage.title), normalise(strip_tag(hit.passage.title))):
            passages = await retriever.document(hit.passage.document_id)
            return passages[0] if passages else None
    return None
