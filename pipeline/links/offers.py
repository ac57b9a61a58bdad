"""The walks that an author is offered from a start: those whose end a search for its own words does not find.

What stands beside an answer is searched for in all retrievers. Where that brings the passage, whoever asks for the
answer needs nothing of the walk that leads to it.
"""

import asyncio
import re
from collections.abc import Iterator, Mapping, Sequence
from math import log2
from typing import cast

from pipeline.links.stored import Links
from pipeline.links.walks import Walk, Walks
from pipeline.retrieval.base import Retriever
from pipeline.text import contains, sentences, words
from pipeline.types import Data, Hit, Passage

_JUDGED = 8
"""Walks of a kind whose ends are searched for, at most."""
_ENDS = 3
"""Ends of a walk that are searched for, at most."""


class Offer(Data):
    walk: Walk
    passages: tuple[Passage, ...]
    """Those of its stops, in their order."""
    ends: tuple[str, ...]
    """What the answer may be: the hidden ends, the most common first; of a conjunction its bridge."""


class Related(Data):
    """A phrase of a passage with other passages that hold it."""

    phrase: str
    documents: int
    passages: tuple[Passage, ...]
    sentences: tuple[str, ...]
    """Of each passage the sentence that holds the phrase; empty where its title does."""


async def offers(
    walks: Walks, start: int, hops: int, retrievers: Sequence[Retriever], k: int, most: int = 4
) -> list[Offer]:
    """The best walks of so many passages from there, of all kinds, the best first; without those whose every end stands
    in a passage that a search for the words beside it brings among the first `k`."""
    asks = walks.chains, walks.meetings, walks.conjunctions
    tried = [_Tried(walks.links, walk) for ask in asks for walk in ask(start, hops, _JUDGED)]
    queries = list(dict.fromkeys(query for one in tried for query in one.queries.values() if query))
    brought = await asyncio.gather(*(retriever.search_many(queries, k) for retriever in retrievers if queries))
    hits = {query: [hit for lists in brought for hit in lists[number]] for number, query in enumerate(queries)}
    good = sorted(tried, key=lambda one: -one.worth)
    return [offer for one in good if (offer := one.offer(hits))][:most]


def related(walks: Walks, place: int, phrases: int = 8, each: int = 3) -> list[Related]:
    """The phrases that link a passage to others on the side of the walks, those of the fewest documents first."""
    links, found = walks.links, list[Related]()
    for phrase in sorted(map(links.phrase, links.of(place)), key=lambda phrase: (phrase.documents, phrase.number)):
        places, groups = walks.places(phrase.number)
        others = places[groups != links.group(place)].tolist()[:each]
        if others and len(found) < phrases:
            text, said = links.text(phrase.number), [links.sentence(links.mention(phrase.number, at)) for at in others]
            passages = tuple(map(links.passage, others))
            found.append(Related(phrase=text, documents=phrase.documents, passages=passages, sentences=tuple(said)))
    return found


class _Tried:
    """A walk, and the searches that show whether it is needed."""

    def __init__(self, links: Links, walk: Walk) -> None:
        self._links, self._walk = links, walk
        self._passages = tuple(cast(Passage, links.corpus.passage(stop.passage)) for stop in walk.stops)
        self.queries = dict(self._clues() if walk.kind == "conjunction" else self._ends())
        """What is searched for, for each end, or for each passage of a conjunction."""

    @property
    def worth(self) -> float:
        """The more, the more bridges are titles, the fewer documents hold them, and the more words the passages share."""
        bridges = [stop for stop in self._walk.stops if stop.bridge]
        held = [self._links.phrase(self._links.find(stop.bridge) or 0).documents for stop in bridges]
        titled = sum(stop.titled for stop in bridges)
        return (titled - 0.3 * sum(map(log2, held))) / len(bridges) + self._topic()

    def _topic(self) -> float:
        """How much the passages are about one thing: the share of long words of each that another holds as well."""
        held = [{word for word in words(passage.text) if len(word) > 4} for passage in self._passages]
        shared = [
            len(one & other) / (1 + min(len(one), len(other))) for one, other in zip(held, held[1:], strict=False)
        ]
        return sum(shared) / len(shared)

    def offer(self, hits: Mapping[str, Sequence[Hit]]) -> Offer | None:
        ends = tuple(end for end, query in self.queries.items() if query and self._hidden(end, hits[query]))
        if self._walk.kind == "conjunction":
            ends = (self._walk.stops[0].bridge,) if len(ends) == len(self._passages) else ()
        return Offer(walk=self._walk, passages=self._passages, ends=ends) if ends else None

    def _ends(self) -> Iterator[tuple[str, str]]:
        last = self._passages[self._walk.last]
        for end in self._walk.ends[:_ENDS]:
            said = next(last.text[a:b] for a, b in sentences(last.text) if a <= end.start < b)
            yield end.text, self._beside(said, last.title, end.text)

    def _clues(self) -> Iterator[tuple[str, str]]:
        number = self._links.find(self._walk.stops[0].bridge)
        for passage in self._passages:
            mention = self._links.mention(cast(int, number), cast(int, self._links.corpus.place(passage.id)))
            yield passage.id, self._beside(self._links.sentence(mention), passage.title)

    def _beside(self, said: str, *left_out: str) -> str:
        """A sentence without the words of these and of the bridges."""
        phrases = [*left_out, *(stop.bridge for stop in self._walk.stops if stop.bridge)]
        gone = {word for phrase in phrases for word in words(phrase)}
        for phrase in filter(None, phrases):
            said = re.sub(re.escape(phrase), " ", said, flags=re.IGNORECASE)
        return " ".join(word for word in said.split() if not gone.issuperset(words(word)))

    def _hidden(self, end: str, hits: Sequence[Hit]) -> bool:
        """Is the passage not among the hits, nor another of its document or a version that says the same?"""
        if self._walk.kind == "conjunction":
            return all(hit.passage.id != end for hit in hits)
        last = self._passages[self._walk.last]
        group = self._group(last)
        return not any(
            hit.passage.id == last.id or (self._group(hit.passage) == group and contains(hit.passage.text, end))
            for hit in hits
        )

    def _group(self, passage: Passage) -> int | None:
        place = self._links.corpus.place(passage.id)
        return None if place is None else self._links.group(place)
