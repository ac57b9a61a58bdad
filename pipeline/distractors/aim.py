"""What a distractor can be aimed at: a hop, the query that finds it, and wrong answers of the right answer's sort."""

from collections.abc import Iterable, Sequence

from pipeline.context import RunContext
from pipeline.distractors.entities import called, is_dated, is_person, may_live, wanted
from pipeline.distractors.kinds.base import Aim
from pipeline.retrieval.base import Retriever
from pipeline.text import contains, dates, normalise, numbers, sentences
from pipeline.types import Draft, Kind, Passage

RIVALS = 8
_LOOKED = 30


def subject(draft: Draft, index: int) -> str:
    """What a hop is about: the answer of the hop before it, or the title of its passage."""
    return draft.hops[index - 1].answer if index else plain(draft.hops[index].title)


def query(draft: Draft, index: int) -> str:
    """The search that a hop asks for: its sub-question, with what it is about where it does not say so itself."""
    asked, about = draft.hops[index].sub_question, subject(draft, index)
    return asked if not index or contains(asked, about) else f"{about} {asked}"


def plain(title: str) -> str:
    """The title without what tells it from others of its name: "Survivor (band)" → "Survivor"."""
    name = title.rsplit(" (", 1)[0] if title.endswith(")") else title
    return name or title


def is_name(answer: str) -> bool:
    """Is it neither a date nor a number?"""
    return not (dates(answer) or numbers(answer))


async def aim(draft: Draft, kind: str, end: int, context: RunContext) -> Aim | None:
    """The aim at which a distractor of that kind gets the answer of hop `end` wrong.

    None where a hop that it lies about is not in the corpus, or is about someone who may be alive.
    """
    hop = end - (kind == Kind.FALSE_SHORTCUT)
    source = await context.retriever.get(draft.hops[hop].passage_id)
    if source is None or await living((draft.hops[hop].passage_id, draft.hops[end].passage_id), context.retriever):
        return None
    answer = draft.hops[end].answer
    return Aim(
        hop=hop,
        query=query(draft, hop),
        source=source,
        quote=draft.hops[hop].quote,
        asked=draft.hops[end].sub_question,
        answer=answer,
        rivals=await rivals(draft, end, context.retriever) if is_name(answer) else (),
    )


async def living(passage_ids: Iterable[str], retriever: Retriever) -> bool:
    """May one of the documents be about someone who is alive?"""
    homes = [await retriever.document(passage_id.rpartition("#")[0]) for passage_id in passage_ids]
    return any(may_live(home[0].text) for home in homes if home)


async def rivals(draft: Draft, end: int, retriever: Retriever) -> tuple[Passage, ...]:
    """Openings of things of the sort that hop `end` asks for, none of the chain, none of a person who may live.

    The sort is told by the answer's own opening; where the corpus has none, by the sub-question.
    """
    answer, asked = draft.hops[end].answer, draft.hops[end].sub_question
    known = await opening(answer, retriever)
    sorts = (called(known.text) if known else frozenset()) or wanted(asked)
    person = is_person(known.text) if known else asked.startswith(("By whom ", "Who "))
    taken = {normalise(plain(name)) for hop in draft.hops for name in (hop.title, hop.answer)}
    same, people = dict[str, Passage](), dict[str, Passage]()
    for head in await heads((_first(known.text) if known else asked, " ".join((*sorted(sorts), answer))), retriever):
        name = normalise(plain(head.title))
        if name in taken or may_live(head.text) or (person and not is_dated(head.text)):
            continue
        if called(head.text) & sorts:
            same.setdefault(name, head)
        elif person:
            people.setdefault(name, head)
    return tuple((same | people).values())[:RIVALS]


async def heads(queries: Sequence[str], retriever: Retriever) -> list[Passage]:
    """The openings of the documents that the queries find."""
    hits = [hit for found in await retriever.search_many(queries, _LOOKED) for hit in found]
    documents = [await retriever.document(i) for i in dict.fromkeys(hit.passage.document_id for hit in hits)]
    return [document[0] for document in documents if document]


def _first(text: str) -> str:
    return text[: sentences(text)[0].end] if sentences(text) else text


async def opening(name: str, retriever: Retriever) -> Passage | None:
    """The first passage of the document of that name, if the corpus has one."""
    for hit in await retriever.search(name, 10):
        if normalise(name) in (normalise(hit.passage.title), normalise(plain(hit.passage.title))):
            passages = await retriever.document(hit.passage.document_id)
            return passages[0] if passages else None
    return None
