"""The walks that an author is offered from a start: those whose end a search for its own words does not find.

The plain words beside an answer are searched for in all retrievers: whoever asks for it may leave out names and
numbers, and must say what the answer is to the rest. Where that brings the passage, nothing of the walk that leads to
it is needed. The answer of a conjunction stands in all its passages, so each may be found by its own clue, but by no
other, and each must hold other things that the answer could be.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise, zip_longest
from math import log2
from typing import cast, get_args

import numpy as np

from pipeline.links import tokens
from pipeline.links.answer_candidates import End
from pipeline.links.stored import StoredLinks
from pipeline.links.walks import Kind, Walk, Walks
from pipeline.retrieval.base import Retriever
from pipeline.text import contains, sentences, words
from pipeline.types import Data, Hit, Passage

_JUDGED = 8
"""Walks of a kind whose ends are searched for, at most."""
_ENDS = 4
"""Ends of a walk that are searched for, at most."""
_BEFORE, _AFTER = 8, 3
"""Words beside an end that a question for it may have to use; of characters that no blanks part twice as many."""
_OTHERS = 2
"""Phrases that a passage of a conjunction shares with other documents beside the answer, at least."""
_LONG = 5
"""Letters of a word that says what a passage is about."""


class Offer(Data):
    walk: Walk
    passages: tuple[Passage, ...]
    """Those of its stops, in their order."""
    ends: tuple[str, ...]
    """What the answer may be: the hidden ends, those first whose sentence has the fewest other names and numbers; of a
    conjunction its bridge."""


class Related(Data):
    """A phrase of a passage with other passages that hold it."""

    phrase: str
    documents: int
    passages: tuple[Passage, ...]
    sentences: tuple[str, ...]
    """Of each passage the sentence that holds the phrase; empty where its title alone does."""


async def offers(
    walks: Walks, start: int, hops: int, retrievers: Sequence[Retriever], k: int, most: int = 4
) -> list[Offer]:
    """The best walks of so many passages from there, of each kind in turn, the best first; those alone that a search
    for `k` passages does not make needless."""
    found = [walks.best(kind, start, hops, _JUDGED) for kind in get_args(Kind)]
    kinds = [sorted((_Tried(walks.links, walk) for walk in of), key=lambda one: -one.worth) for of in found]
    queries = list(dict.fromkeys(query for tried in kinds for one in tried for _, query in one.searches if query))
    brought = await asyncio.gather(*(retriever.search_many(queries, k) for retriever in retrievers if queries))
    hits = {query: [hit for lists in brought for hit in lists[number]] for number, query in enumerate(queries)}
    good = [[offer for one in tried if (offer := one.offer(hits))] for tried in kinds]
    return [offer for in_turn in zip_longest(*good) for offer in in_turn if offer][:most]


def related(walks: Walks, place: int, phrases: int = 8, each: int = 3) -> list[Related]:
    """The phrases that link a passage to others on the side of the walks, those of the fewest documents first; of each
    one passage of every document that holds it before further ones."""
    links, found = walks.links, list[Related]()
    for phrase in sorted(map(links.phrase, links.of(place)), key=lambda phrase: (phrase.documents, phrase.number)):
        places, groups = walks.places(phrase.number)
        away = np.flatnonzero(groups != links.group(place))
        first = np.sort(np.unique(groups[away], return_index=True)[1])
        others = places[away[[*first, *np.delete(np.arange(len(away)), first)]]].tolist()[:each] if len(away) else []
        if others and len(found) < phrases:
            text, said = links.text(phrase.number), [links.sentence(links.mention(phrase.number, at)) for at in others]
            passages = tuple(map(links.passage, others))
            found.append(Related(phrase=text, documents=phrase.documents, passages=passages, sentences=tuple(said)))
    return found


class _Tried:
    """A walk, and the searches that show whether all of it is needed."""

    def __init__(self, links: StoredLinks, walk: Walk) -> None:
        self._links, self._walk = links, walk
        self._passages = tuple(cast(Passage, links.corpus.passage(stop.passage)) for stop in walk.stops)
        self._places = [cast(int, links.corpus.place(stop.passage)) for stop in walk.stops]
        self.searches = list(self._clues() if walk.kind == "conjunction" else self._ends())
        """Ends, or passages of a conjunction, each with what is searched for; an end once for each place of it."""

    @property
    def worth(self) -> float:
        """More where bridges are titles, where few documents hold them, and where the passages are about one thing."""
        bridges = [stop for stop in self._walk.stops if stop.bridge]
        return sum(stop.titled - log2(stop.documents) / 4 for stop in bridges) / len(bridges) + self._topic()

    def _topic(self) -> float:
        """The share of long words that each passage has in common with the next."""
        held = [{word for word in words(passage.text) if len(word) >= _LONG} for passage in self._passages]
        shared = [len(one & other) / (1 + min(len(one), len(other))) for one, other in pairwise(held)]
        return sum(shared) / len(shared)

    def offer(self, hits: Mapping[str, Sequence[Hit]]) -> Offer | None:
        if self._walk.kind == "conjunction":
            apart = all(query and self._apart(key, hits[query]) for key, query in self.searches)
            ends: tuple[str, ...] = (self._walk.stops[0].bridge,) if apart and self._unclear() else ()
        else:
            found = {end for end, query in self.searches if not query or not self._hidden(end, hits[query])}
            ends = tuple(dict.fromkeys(end for end, _ in self.searches if end not in found))
        return Offer(walk=self._walk, passages=self._passages, ends=ends) if ends else None

    def _ends(self) -> Iterator[tuple[str, str]]:
        last, asked = self._passages[self._walk.last], list[tuple[int, str, str]]()
        for end in self._walk.ends:
            a, b = next((a, b) for a, b in sentences(last.text) if a <= end.start < b)
            names, query = self._plain(self._walk.last, a, b, last.title, end.text, end=end)
            asked.append((names, end.text, query))
        asked.sort(key=lambda one: one[0])
        few = list(dict.fromkeys(end for _, end, _ in asked))[:_ENDS]
        yield from ((end, query) for _, end, query in asked if end in few)

    def _clues(self) -> Iterator[tuple[str, str]]:
        for number, (passage, stop) in enumerate(zip(self._passages, self._walk.stops, strict=True)):
            said = (span for span in sentences(passage.text) if contains(passage.text[slice(*span)], stop.bridge))
            # A phrase of a script without blanks may go on after what is taken for a sentence.
            yield passage.id, next((self._plain(number, *span, passage.title)[1] for span in said), "")

    def _plain(self, number: int, begin: int, until: int, *left_out: str, end: End | None = None) -> tuple[int, str]:
        """How many words of names and numbers a sentence of a passage has beside these and the bridges, and all its
        other words; of those far from the end none. In a script without capital letters a phrase that links documents
        is a name."""
        gone = {word for phrase in (*left_out, *(stop.bridge for stop in self._walk.stops)) for word in words(phrase)}
        said = self._passages[number].text[begin:until]
        read = tokens.words([said])
        names = (read.capital & ~read.first) | (read.digits > 0)
        for start, stop, _ in () if read.cased.all() else self._links.spans(self._places[number]):
            names |= ~read.cased & (read.start + begin >= start) & (read.end + begin <= stop)
        near = np.ones(len(read), np.bool_) if end is None else _near(read, end.start - begin, end.end - begin)
        # A character of Han is part of a text without blanks; one of Korean may stand after one.
        parts = [
            (said[start:end], not single or said[start - 1 : start].isspace())
            for start, end, single in zip(read.start.tolist(), read.end.tolist(), read.single.tolist(), strict=True)
        ]
        kept = [
            (f"{' ' * apart}{part}", name)
            for (part, apart), name, beside in zip(parts, names.tolist(), near.tolist(), strict=True)
            if beside and not gone.issuperset(words(part))
        ]
        return sum(name for _, name in kept), "".join(part for part, name in kept if not name).strip()

    def _hidden(self, end: str, hits: Sequence[Hit]) -> bool:
        """Do they lack the passage, and all others of its document and its versions that say the same?"""
        last = self._places[self._walk.last]
        return not any(
            place == last or (self._links.group(place) == self._links.group(last) and contains(hit.passage.text, end))
            for hit in hits if (place := self._links.corpus.place(hit.passage.id)) is not None
        )  # fmt: skip

    def _apart(self, own: str, hits: Sequence[Hit]) -> bool:
        """Does none of them but its own passage hold the answer?"""
        bridge = self._walk.stops[0].bridge
        return not any(hit.passage.id != own and contains(hit.passage.text, bridge) for hit in hits)

    def _unclear(self) -> bool:
        return all(len(self._links.of(place)) > _OTHERS for place in self._places)


def _near(read: tokens.Words, start: int, end: int) -> tokens.Bools:
    """Which words of a sentence stand beside an end, or are its own?"""
    size = np.where(read.single, 1, 2)
    ahead = np.cumsum(size) - size
    # Nothing may follow; and a sentence may be cut within what is read as one number.
    first, follows = np.minimum(np.searchsorted(read.start, [start, end]), len(read) - 1)
    near: tokens.Bools = (ahead[first] - ahead <= 2 * _BEFORE) & (ahead - ahead[follows] < 2 * _AFTER)
    return near
