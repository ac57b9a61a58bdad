"""Find pairs of passages that can be two steps of a question: the second does not name what the first is about."""

from collections.abc import Collection, Iterable, Iterator
from itertools import islice

from pipeline.corpus import Corpus
from pipeline.links.related import SideLinks
from pipeline.text import contains, dates, numbers, sentences
from pipeline.types import Data, Passage

_EACH = 3
"""The most leads that start in a document, that end in it, and that go on from the pages of the first."""
_READ = 40
"""The most passages of a document that are read, from its start."""


class Lead(Data):
    """A thing that one passage names, with a passage that tells of it without naming what the first one is about.

    To read the second passage, a solver has to know the thing: the title of the first passage does not lead there.
    """

    name: str
    """The thing, as the first passage writes it."""
    passage: Passage
    sentence: str
    """The sentence of `passage` that names the thing."""
    page: Passage
    """A passage of a document whose title is the name or, if there is none, of another document that holds it."""
    fact: str
    """A sentence of `page`: the first with a date or a number, or the first of all."""
    is_titled: bool
    """Whether the name is the title of the document of `page`."""


def find_leads(links: SideLinks, passage: Passage) -> list[Lead]:
    """Return leads that start in the document of a passage, then those that end there, then those that go further.

    Of things that have a document of their own, those that fewer documents name come first: they are less known. The
    other things are listed only if no thing near the passage has a document.
    """
    if (place := links.stored.corpus.place(passage.id)) is None:
        return []
    starting = list(islice(_starting(links, passage.document_id, {passage.title}), _EACH))
    ending = list(islice(_ending(links, passage, place), _EACH))
    titles = {passage.title, *(lead.name for lead in starting)}
    onward = [
        lead
        for first in starting
        if first.is_titled
        for lead in islice(_starting(links, first.page.document_id, titles), 1)
    ]
    leads = [*starting, *ending, *onward]
    return [lead for lead in leads if lead.is_titled] or leads


def _starting(links: SideLinks, document_id: str, titles: Collection[str]) -> Iterator[Lead]:
    """Yield leads from a document to passages that hold none of these titles."""
    stored = links.stored
    first_places = dict[int, int]()
    for place in _places_of(stored.corpus, document_id):
        for number in stored.of(place):
            first_places.setdefault(number, place)
    candidates = [(*_find_pages(links, number, place), number, place) for number, place in first_places.items()]
    candidates.sort(key=lambda candidate: (not candidate[0], stored.phrase(candidate[2]).documents, candidate[2]))
    for is_titled, places, number, place in candidates:
        mention, name = stored.mention(number, place), stored.text(number)
        if mention.end and not mention.home and name not in titles:
            pages = (page for page in map(stored.passage, places) if not _holds(page, titles))
            if page := _choose(pages):
                yield _build(name, stored.passage(place), stored.sentence(mention), page, is_titled=is_titled)


def _find_pages(links: SideLinks, number: int, place: int) -> tuple[bool, list[int]]:
    """Return whether the phrase at a place is the title of other documents, and the places of what tells of it.

    These are the passages of the documents with that title or, if there are none, all others that hold the phrase.
    """
    stored = links.stored
    elsewhere = [mention for mention in links.mentions(number) if stored.group(mention.place) != stored.group(place)]
    titled = dict.fromkeys(stored.passage(mention.place).document_id for mention in elsewhere if mention.home)
    if not titled:
        return False, [mention.place for mention in elsewhere]
    return True, [place for document_id in titled for place in _places_of(stored.corpus, document_id)]


def _ending(links: SideLinks, passage: Passage, place: int) -> Iterator[Lead]:
    """Yield leads from other documents to the passage at a place, or to another of its document, one for each title."""
    stored, titles = links.stored, {passage.title}
    for number in stored.of(place):
        mentions = links.mentions(number)
        homes = (stored.passage(mention.place).document_id for mention in mentions if mention.home)
        if passage.document_id not in homes:
            continue
        pages = [passage, *map(stored.passage, _places_of(stored.corpus, passage.document_id))]
        for mention in mentions:
            source = stored.passage(mention.place)
            if mention.home or not mention.end or source.title in titles:
                continue
            titles.add(source.title)
            if page := next((page for page in pages if not _holds(page, {source.title})), None):
                yield _build(stored.text(number), source, stored.sentence(mention), page, is_titled=True)


def _places_of(corpus: Corpus, document_id: str) -> list[int]:
    places = (corpus.place(passage.id) for passage in corpus.passages_of(document_id)[:_READ])
    return [place for place in places if place is not None]


def _holds(passage: Passage, titles: Collection[str]) -> bool:
    return any(contains(f"{passage.title}\n{passage.text}", title) for title in titles)


def _choose(pages: Iterable[Passage]) -> Passage | None:
    """Return the first of these passages that states a value, or the first one."""
    pages = list(pages)
    return next((page for page in pages if _states_value(page.text)), pages[0] if pages else None)


def _states_value(text: str) -> bool:
    return bool(dates(text) or numbers(text))


def _build(name: str, passage: Passage, sentence: str, page: Passage, *, is_titled: bool) -> Lead:
    facts = [" ".join(page.text[start:end].split()) for start, end in sentences(page.text)]
    fact = next(filter(_states_value, facts), facts[0])
    return Lead(name=name, passage=passage, sentence=sentence, page=page, fact=fact, is_titled=is_titled)
