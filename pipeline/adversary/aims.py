"""What a distractor can be aimed at: a hop, the query that finds it, and wrong answers of the right answer's sort."""

from pipeline.adversary.sorts import is_person, may_live, same_sort
from pipeline.agents.site import Site
from pipeline.distractors.base import Aim
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


async def aim(draft: Draft, kind: Kind, end: int, site: Site) -> Aim | None:
    """The aim at which a distractor of that kind gets the answer of hop `end` wrong.

    None where the hop's passage is not in the corpus, or is about someone who may be alive.
    """
    hop = end - (kind is Kind.FALSE_SHORTCUT)
    source = await site.retriever.get(draft.hops[hop].passage_id)
    if source is None or may_live((await site.retriever.document(source.document_id))[0].text):
        return None
    answer = draft.hops[end].answer
    return Aim(
        hop=hop,
        query=query(draft, hop),
        source=source,
        quote=draft.hops[hop].quote,
        asked=draft.hops[end].sub_question,
        answer=answer,
        rivals=await rivals(draft, answer, site.retriever) if is_name(answer) else (),
    )


async def rivals(draft: Draft, answer: str, retriever: Retriever) -> tuple[Passage, ...]:
    """Openings of things of the answer's sort, none of them in the chain, none of them a person who may live."""
    known = await opening(answer, retriever)
    if known is None:
        return ()
    first = known.text[: sentences(known.text)[0].end] if sentences(known.text) else known.text
    taken = {normalise(plain(name)) for hop in draft.hops for name in (hop.title, hop.answer)}
    same, people = dict[str, Passage](), dict[str, Passage]()
    for hit in await retriever.search(first, _LOOKED):
        name = normalise(plain(hit.passage.title))
        head = await retriever.document(hit.passage.document_id)
        if name in taken or not head or may_live(head[0].text):
            continue
        if same_sort(head[0].text, known.text):
            same.setdefault(name, head[0])
        elif is_person(head[0].text) and is_person(known.text):
            people.setdefault(name, head[0])
    return tuple((same | people).values())[:RIVALS]


async def opening(name: str, retriever: Retriever) -> Passage | None:
    """The first passage of the document of that name, if the corpus has one."""
    for hit in await retriever.search(name, 10):
        if normalise(name) in (normalise(hit.passage.title), normalise(plain(hit.passage.title))):
            passages = await retriever.document(hit.passage.document_id)
            return passages[0] if passages else None
    return None
