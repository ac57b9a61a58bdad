"""Walks over the links of a corpus, from which questions can be made: chains, meetings and conjunctions.

A chain is a row of passages, each of which shares a phrase, its bridge, with the next. Which passage a link may be
reached from is settled by a keyed hash over those that could be it, so that walks from two starts have no link in
common but the first of one, and what a start is offered rests on nothing but corpus, key and start.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import chain, islice
from typing import Literal

import numpy as np

from pipeline.corpus.hashes import hashed
from pipeline.corpus.split import Side, side
from pipeline.links.answer_candidates import End, ends
from pipeline.links.stored import StoredLinks
from pipeline.links.tokens import U64, mixed, words
from pipeline.text import contains
from pipeline.types import Data, Passage

_LOOKED_AT = 400
"""Links that are tried from one start, at most."""
_FEW = 8
"""Walks that are judged to offer the best of them."""
_Row = tuple[tuple[int, ...], tuple[int, ...]]
"""Passages, and the bridges between them."""
Kind = Literal["chain", "meeting", "conjunction"]


class WalkPassage(Data):
    """A passage of a walk."""

    passage: str
    bridge: str
    """The phrase that it shares with the passage before; in the second branch of a meeting with the one after, and in a
    conjunction with all. Empty of the passage that a chain, or the first branch of a meeting, begins with."""
    titled: bool
    """Is the bridge the title of a document, and not a name alone?"""
    documents: int
    """That hold the bridge; 0 where there is none."""


class Walk(Data):
    kind: Kind
    stops: tuple[WalkPassage, ...]
    """Of a meeting first the one branch, which ends in the passage where both meet, then the other, from its start."""
    ends: tuple[End, ...]
    """What the answer may be, in the passage that the walk leads to; of a conjunction the bridge is the answer."""

    @property
    def last(self) -> int:
        """The number of the stop that the walk leads to."""
        return len(self.stops) // 2 if self.kind == "meeting" else len(self.stops) - 1


class Walks:
    """`of` is the side of the split whose documents alone they pass; left out, they pass all."""

    def __init__(self, links: StoredLinks, key: str, of: Side | None = None) -> None:
        self.links, self._key, self._side = links, np.uint64(hashed(key)), of
        self.places = lru_cache(1 << 14)(self._read_places)
        self._owners = lru_cache(1 << 14)(self._read_owners)
        self._before = lru_cache(1 << 14)(self._read_before)
        self._homes = lru_cache(1 << 14)(self._read_homes)
        self._means_one_thing = lru_cache(1 << 14)(self._read_whether_one)
        self._ends_of = lru_cache(1 << 10)(lambda place: ends(links, place))
        self._kinds: dict[Kind, Callable[[int, int], Iterator[Walk]]] = {
            "chain": self._chains, "meeting": self._meetings, "conjunction": self._conjunctions
        }  # fmt: skip

    def best(self, kind: Kind, start: int, hops: int, most: int = 3) -> list[Walk]:
        """Walks of so many passages from the passage at that place, two at least, and three of a meeting: of the first
        few those with an end first; of them those whose bridges are titles.

        A chain is one row of passages; a meeting two, one from the start and the other from another passage, that lead
        to one; a conjunction passages of so many documents, the start's among them, that each say something of one
        thing.
        """
        few = islice(self._kinds[kind](start, hops), _FEW)
        return sorted(few, key=lambda walk: (not walk.ends, -sum(stop.titled for stop in walk.stops)))[:most]

    def any(self, start: int, hops: int) -> Walk | None:
        """The first walk of so many passages from there, of whatever kind."""
        return next(chain.from_iterable(walks(start, hops) for walks in self._kinds.values()), None)

    def _chains(self, start: int, hops: int) -> Iterator[Walk]:
        for places, bridges in self._rows(start, hops - 1):
            if self._holds_together(places, bridges):
                stops = self._stops(places, (None, *bridges))
                yield Walk(kind="chain", stops=stops, ends=self._ends(places, bridges))

    def _meetings(self, start: int, hops: int) -> Iterator[Walk]:
        ahead = (hops - 1) - (hops - 1) // 2
        for places, bridges in self._rows(start, ahead) if hops > 2 else ():
            branch, its = self._branch(places[-1], bridges[-1], hops - 1 - ahead) or ((), ())
            if not branch:
                continue
            back = self._branch(places[-1], its[0], ahead)
            twice = ahead == len(its) and back == (places[-2::-1], bridges[::-1])
            if twice and not self._first_of(start, branch[-1]):
                continue
            if self._holds_together((*places, *branch), (*bridges, *its)):
                stops = self._stops((*places, *branch[::-1]), (None, *bridges, *its[::-1]))
                ends = self._ends((*places[:-1], *branch, places[-1]), (*bridges, *its))
                yield Walk(kind="meeting", stops=stops, ends=ends)

    def _conjunctions(self, start: int, hops: int) -> Iterator[Walk]:
        for number in self._shuffled(self.links.of(start)):
            own = self.links.mention(number, start)
            places, groups = self.places(number)
            # Whose walk it is: the first of the passages that hold the phrase.
            order = np.argsort(self._hash(np.uint64(number), places))
            if own.home or not own.end or places[order[0]] != start or not self._means_one_thing(number):
                continue
            chosen = self._of_others(number, places[order], groups[order], hops)
            if len(chosen) == hops:
                yield Walk(kind="conjunction", stops=self._stops(chosen, [number] * hops), ends=())

    def _of_others(self, number: int, places: U64, groups: U64, count: int) -> list[int]:
        """One passage of each of so many documents that say something of a phrase and are not about it."""
        chosen, seen = list[int](), set[int]()
        for place, group in zip(places.tolist(), groups.tolist(), strict=True):
            mention = self.links.mention(number, place)
            if mention.end and not mention.home and group not in seen and len(chosen) < count:
                chosen.append(place)
                seen.add(group)
        return chosen

    def _rows(self, start: int, hops: int) -> Iterator[_Row]:
        """Rows of passages and their bridges, all of whose links are this start's own, depth first."""
        tried = 0
        open_rows: list[_Row] = [((start,), ())]
        while open_rows and tried < _LOOKED_AT:
            places, bridges = open_rows.pop()
            if len(bridges) == hops:
                if not self._is_row(places[::-1], bridges[::-1]) or self._first_of(start, places[-1]):
                    yield places, bridges
                continue
            tried += 1
            open_rows += self._longer(places, bridges)

    def _longer(self, places: tuple[int, ...], bridges: tuple[int, ...]) -> Iterator[_Row]:
        here = places[-1]
        groups = {self.links.group(place) for place in places}
        next_bridges = self._after(here, bridges[-1]) if bridges else self.links.of(here)
        for bridge in self._shuffled(next_bridges):
            if bridge in bridges:
                continue
            held, of = self.places(bridge)
            for place, owner, group in zip(held.tolist(), self._owners(bridge).tolist(), of.tolist(), strict=True):
                if owner == here and group not in groups and self._joins(bridge, here, place):
                    yield (*places, place), (*bridges, bridge)

    def _joins(self, bridge: int, one: int, other: int) -> bool:
        """Of the phrases that two passages share, is it the one that joins them: that which fewest documents hold? What
        is a title joins its own document to those that name it, and not two that merely name it."""
        shared = {*self.links.of(one)}.intersection(self.links.of(other))
        homes = self._homes(bridge)
        alike = homes and one not in homes and other not in homes
        least = min(shared, key=lambda number: (self.links.phrase(number).documents, number))
        return bridge == least and not alike and self._means_one_thing(bridge)

    def _read_whether_one(self, number: int) -> bool:
        """One word that is nobody's title, as Chelsea or USSR, mostly means several things, or too much."""
        known = self.links.phrase(number).kind in ("identifier", "stated") or self._homes(number)
        return bool(known) or len(words([self.links.text(number)])) > 1

    def _is_row(self, places: Sequence[int], bridges: Sequence[int]) -> bool:
        """Is it what `_rows` would give of its first passage?"""
        inner = zip(places[1:-1], bridges[:-1], bridges[1:], strict=True)
        steps = zip(places[:-1], bridges, places[1:], strict=True)
        return all(self._before(place).get(after) == before for place, before, after in inner) and all(
            self._owner(bridge, place) == before for before, bridge, place in steps
        )

    def _owner(self, bridge: int, place: int) -> int:
        held, _ = self.places(bridge)
        return int(self._owners(bridge)[int(np.flatnonzero(held == place)[0])])

    def _after(self, place: int, bridge: int) -> list[int]:
        """The bridges from a passage that may follow this bridge to it."""
        return [after for after, before in self._before(place).items() if before == bridge]

    def _read_before(self, place: int) -> dict[int, int]:
        """For each bridge from a passage the one that must lead to it."""
        numbers = self.links.of(place)
        if len(numbers) < 2:
            return {}
        own = np.array(numbers, np.uint64)
        keys = self._hash(self._hash(np.uint64(place), own)[:, None], own[None, :])
        np.fill_diagonal(keys, np.iinfo(np.uint64).max)
        return {number: numbers[int(first)] for number, first in zip(numbers, keys.argmin(1), strict=True)}

    def _read_places(self, number: int) -> tuple[U64, U64]:
        """As the links give them, of this side alone."""
        places, groups = self.links.places(number)
        if self._side is None:
            return places, groups
        here = [side(self.links.passage(int(place)).document_id) == self._side for place in places]
        return places[here], groups[here]

    def _read_owners(self, number: int) -> U64:
        """For each passage that holds a phrase, the one from which it is reached by it: of another document, and by a
        title from its own document, or to it."""
        places, groups = self.places(number)
        keys = self._hash(self._hash(np.uint64(number), places)[:, None], places[None, :])
        home = np.isin(places, np.array([*self._homes(number)], np.uint64))
        apart = (groups[:, None] != groups[None, :]) & (~home.any() | (home[:, None] != home[None, :]))
        keys[~apart] = np.iinfo(np.uint64).max
        return places[keys.argmin(1)]  # type: ignore[no-any-return]

    def _read_homes(self, number: int) -> frozenset[int]:
        """The passages of the documents that have a phrase for a title."""
        return frozenset(mention.place for mention in self.links.mentions(number) if mention.home)

    def _branch(self, place: int, bridge: int, hops: int) -> _Row | None:
        """The way back from a passage, by another bridge than this one; the nearest passage first."""
        places, bridges = [place], [bridge]
        for _ in range(hops):
            before = self._before(places[-1]).get(bridges[-1])
            if before is None or before in bridges:
                return None
            owner = self._owner(before, places[-1])
            if not self._joins(before, owner, places[-1]):
                return None
            bridges.append(before)
            places.append(owner)
        return tuple(places[1:]), tuple(bridges[1:])

    def _first_of(self, start: int, other: int) -> bool:
        """Of the two ends of a walk, is the first the one that it is offered to?"""
        one, two = self._hash(np.uint64(0), np.array([start, other], np.uint64)).tolist()
        return bool(one < two)

    def _holds_together(self, places: Sequence[int], bridges: Sequence[int]) -> bool:
        """Is each document of its own, and do the two that a bridge joins hold it, and no other?"""
        if len({self.links.group(place) for place in places}) < len(places):
            return False
        texts = [f"{passage.title}\n{passage.text}" for passage in map(self.links.passage, places)]
        return all(
            contains(text, phrase) == (number in {at, at + 1})
            for at, phrase in enumerate(map(self.links.text, bridges))
            for number, text in enumerate(texts)
        )

    def _ends(self, places: Sequence[int], bridges: Sequence[int]) -> tuple[End, ...]:
        """What the last passage says that no other does, in words that many documents use for such a thing."""
        *others, last = (self.links.passage(place) for place in places)
        held = [f"{passage.title}\n{passage.text}" for passage in others]
        held += [last.title, *map(self.links.text, bridges)]
        return tuple(end for end in self._ends_of(places[-1]) if not any(contains(t, end.text) for t in held))

    def _stops(self, places: Sequence[int], bridges: Sequence[int | None]) -> tuple[WalkPassage, ...]:
        return tuple(map(self._stop, map(self.links.passage, places), bridges))

    def _stop(self, passage: Passage, bridge: int | None) -> WalkPassage:
        if bridge is None:
            return WalkPassage(passage=passage.id, bridge="", titled=False, documents=0)
        phrase, text = self.links.phrase(bridge), self.links.text(bridge)
        titled = phrase.kind in {"title", "stated"}
        return WalkPassage(passage=passage.id, bridge=text, titled=titled, documents=phrase.documents)

    def _shuffled(self, numbers: Sequence[int]) -> list[int]:
        keys = self._hash(np.uint64(1), np.array(numbers, np.uint64))
        return [numbers[int(place)] for place in np.argsort(keys, kind="stable")]

    def _hash(self, one: U64 | np.uint64, other: U64) -> U64:
        return mixed(mixed(np.atleast_1d(one) ^ self._key) + other)
