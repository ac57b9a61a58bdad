"""The phrases of a text that may link it to others: titles of other documents, names, identifiers, rare words.

Names show by their capital letters, where the script has them, identifiers by their digits, capitals and marks; in
other scripts a rare word is one that few documents hold, and they more than once. No list of words is used and no rule
of a language.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pipeline.links.sorted_tables import Columns, spread
from pipeline.links.survey import FEWEST, GRAMS, grams, sentence_hashes
from pipeline.links.titles import KnownTitles, Titles
from pipeline.links.tokens import LONGEST, Bools, Ints, Words, mixed, phrases, sums, words

TITLE, NAME, IDENTIFIER, WORD, STATED = range(5)
KINDS = ("title", "name", "identifier", "word", "stated")
_TIE = 3
"""Letters of a word within a name, as in "Duke of York"; two of them at most."""
_LETTERS = 3
"""Of an abbreviation that may stand for many things."""
_LISTED = 4
"""A sentence of so many times the words that it has beside names and numbers is a list."""
_WORD_LENGTH = 4


@dataclass(frozen=True)
class Knowledge:
    """What the survey found."""

    titles: Titles
    rare: KnownTitles
    """Hashes of words of scripts without capital letters, and of runs of characters, that few documents have, and that
    those have more than once."""
    small: KnownTitles
    """Of words that are mostly written in small letters: no names."""
    common: KnownTitles
    """Of words that many documents hold: a name has another one."""
    beside: KnownTitles
    """Of common words that are mostly written with a capital letter and then mostly have none of the kind after them,
    as a German noun or "President": before a name they are no part of it."""
    boilerplate: KnownTitles
    """Of sentences that several documents have."""


@dataclass(frozen=True)
class _Found:
    first: Ints
    """The number of its first word."""
    count: Ints
    kind: int


def mentions(read: Words, knowledge: Knowledge, titles: Words) -> Columns:
    """`hash`, `text`, `start`, `end` (code points of the text) and `kind` of each phrase; one that several ways have
    found stands once. `titles` are the words of each text's title."""
    if not len(read):
        return {name: np.empty(0, np.int64) for name in ("text", "start", "end", "kind")} | {"hash": read.hash}
    capitals = _Runs(read, knowledge)
    found = [*_titles(read, knowledge, capitals), *capitals.names(titles), _identifiers(read), *_rare(read, knowledge)]
    first = np.concatenate([one.first for one in found])
    count = np.concatenate([one.count for one in found])
    kind = np.concatenate([np.full(len(one.first), one.kind, np.uint8) for one in found])
    own = sums(read.capital & ~knowledge.common.holds(mixed(read.hash)))
    says = (kind != NAME) | (own[first + count] > own[first])
    says &= _says_more(read, first, count, knowledge) & ~_cut_off(read, first + count)
    first, count, kind = first[says], count[says], kind[says]
    order = np.lexsort((kind, count, first))
    first, count, kind = first[order], count[order], kind[order]
    again = np.concatenate([[False], (first[1:] == first[:-1]) & (count[1:] == count[:-1])])[: len(first)]
    first, count, kind = first[~again], count[~again], kind[~again]
    last = first + count - 1
    return {
        "hash": phrases(read.hash, first, count), "text": read.text[first], "start": read.start[first],
        "end": read.end[last], "kind": kind,
    }  # fmt: skip


def _cut_off(read: Words, follows: Ints) -> Bools:
    """Does an apostrophe tie the phrase to what follows, as in "You Don't"? An s may follow: it is a case, or "is"."""
    place = np.minimum(follows, len(read) - 1)
    other = read.elided[place] & (read.hash[place] != words(["s"]).hash[0])
    cut: Bools = other & (follows < len(read))
    return cut


def _says_more(read: Words, first: Ints, count: Ints, knowledge: Knowledge) -> Bools:
    """Does the sentence say something of the phrase? It has words beside names, and stands in few documents."""
    begins = np.flatnonzero(read.first)
    hashes, size = sentence_hashes(read, begins)
    other = np.add.reduceat((read.capital | (read.digits > 0)).astype(np.int64) ^ 1, begins)
    good = (other >= FEWEST) & (_LISTED * other >= size) & ~knowledge.boilerplate.holds(hashes)
    sentence = read.sentence[first] - 1
    plain = sums(~(read.capital | (read.digits > 0)))
    left = other[sentence] - (plain[first + count] - plain[first])
    says: Bools = good[sentence] & (left >= FEWEST) & (2 * count <= size[sentence])
    return says


def _titles(read: Words, knowledge: Knowledge, capitals: "_Runs") -> Iterator[_Found]:
    """Whole words in a row that are the name of a document, with as many capital letters as it has, and that are no
    part of a longer name."""
    upper = sums(read.capital)
    # Most words begin no title, and then no more of them are looked at.
    near = np.flatnonzero(~read.first[1:])
    near = near[knowledge.titles.begins.holds(phrases(read.hash, near, np.full(len(near), 2)))]
    last = np.append(np.flatnonzero(read.first)[1:], len(read))[read.sentence - 1]
    for count in range(1, LONGEST + 1):
        at = np.arange(len(read)) if count == 1 else near[near + count <= last[near]]
        title = knowledge.titles.names.find(phrases(read.hash, at, np.full(len(at), count)))
        first, title = at[title >= 0], title[title >= 0]
        size = upper[first + count] - upper[first]
        good = size >= knowledge.titles.capitals[title]
        if count == 1:
            # A capital at the start of a sentence says nothing.
            needed = knowledge.titles.capitals[title] > 0
            good &= ~(needed & read.first[first] & knowledge.small.holds(mixed(read.hash[first])))
        good &= (size == 0) | capitals.whole(first, count)
        first = first[good]
        yield _Found(first, np.full(len(first), count), TITLE)


class _Runs:
    """Words with capital letters in a row, numbers among them, and short words that tie two of them."""

    def __init__(self, read: Words, knowledge: Knowledge) -> None:
        self._read = read
        near = read.near
        # The first word of a sentence is no part of a name if it is mostly written small.
        self._small = knowledge.small.holds(mixed(read.hash))
        self._common = knowledge.common.holds(mixed(read.hash))
        self._beside = knowledge.beside.holds(mixed(read.hash))
        self.capital = read.capital & ~(read.first & self._small)
        number = read.digits > 0
        pure = self.capital | number
        self.begins = np.flatnonzero(pure & ~(near & _after(pure)))
        self.ends = np.flatnonzero(pure & ~_before(near & pure)) + 1
        self._short = read.cased & ~read.capital & (read.end - read.start <= _TIE) & near

    def whole(self, first: Ints, count: Ints | int) -> Bools:
        """Is the phrase no part of a longer name?"""
        read, last = self._read, first + count - 1
        follows = np.minimum(last + 1, len(read) - 1)
        after = (last + 1 < len(read)) & read.near[follows] & (self.capital[follows] | (read.digits[follows] > 0))
        before = np.maximum(first - 1, 0)
        # "President Jane Roe" is Jane Roe; but one word, or words that are all common, may be that of other things.
        own = sums(read.capital & ~self._common)
        beside = self._beside[before] & (count > 1) & (own[first + count] > own[first])
        ahead = read.near[first] & self.capital[before] & ~beside
        whole: Bools = ~(after & self.capital[last]) & ~(ahead & self.capital[first])
        return whole

    def names(self, titles: Words) -> Iterator[_Found]:
        """Runs as long as they are, without numbers at their ends; those that short words tie together; single words
        where they are nowhere in the text or its title a part of a longer name. One word and a number, which may be a
        date, is no name."""
        read = self._read
        first, end, bare = self._trimmed()
        joined, across = self._tied(first[bare], end[bare])
        count = end - first
        good = (count > 0) & (count <= LONGEST)
        # "63rd Infantry Division" is another one than the 64th.
        ordinal = _after(read.numeral & (read.digits < read.end - read.start)) & read.near
        good &= ~ordinal[first]
        several = good & (count > 1)
        yield _Found(first[several], count[several], NAME)
        yield _Found(joined, across, NAME)
        part = np.zeros(len(read), np.bool_)
        for at, size in ((first[several], count[several]), (joined, across)):
            part[spread(at, size)] = True
        alone = first[good & (count == 1) & bare]
        tied = read.tied | _before(read.tied)
        short = (read.upper == read.end - read.start) & (read.upper <= _LETTERS)
        alone = alone[~read.first[alone] & ~self._small[alone] & ~tied[alone] & ~short[alone]]
        key, own = (mixed(one.hash + mixed(one.text.astype(np.uint64))) for one in (read, titles))
        joined_ahead = titles.near & titles.capital & _after(titles.capital)
        own = own[joined_ahead | _before(joined_ahead)]
        alone = alone[~KnownTitles(np.sort(np.concatenate([key[part], own]))).holds(key[alone])]
        yield _Found(alone, np.ones(len(alone), np.int64), NAME)

    def _trimmed(self) -> tuple[Ints, Ints, Bools]:
        """The runs, without the numbers that they begin and end with, and which have none of these."""
        name = np.flatnonzero(self.capital)
        if not len(name):
            return name, name, np.empty(0, np.bool_)
        left, right = np.searchsorted(name, self.begins), np.searchsorted(name, self.ends) - 1
        good = left <= right
        first, end = name[left[good]], name[right[good]] + 1
        return first, end, (first == self.begins[good]) & (end == self.ends[good])

    def _tied(self, first: Ints, end: Ints) -> tuple[Ints, Ints]:
        """Runs that one or two short words part, together: where each such row of runs begins, and its words."""
        if len(first) < 2:
            return np.empty(0, np.int64), np.empty(0, np.int64)
        gap = first[1:] - end[:-1]
        short = sums(self._short)
        tied = (gap >= 1) & (gap <= 2) & (short[first[1:]] - short[end[:-1]] == gap) & self._read.near[first[1:]]
        begins = np.flatnonzero(tied & ~_after(tied))
        ends = np.flatnonzero(tied & ~_before(tied)) + 1
        across = end[ends] - first[begins]
        fits = across <= LONGEST
        return first[begins][fits], across[fits]


def _after(mask: Bools) -> Bools:
    """Of each word, what holds for the one before it."""
    return np.concatenate([[False], mask[:-1]])


def _before(mask: Bools) -> Bools:
    """Of each word, what holds for the one after it."""
    return np.concatenate([mask[1:], [False]])


def _identifiers(read: Words) -> _Found:
    """What marks tie together, or one word, that begins with a letter and has digits, and a capital or a digit within
    its first part; or whose first part begins small and has capitals within."""
    begins = np.flatnonzero(~read.tied)
    count = np.diff(np.append(begins, len(read)))
    digits = np.add.reduceat(read.digits, begins)
    capitals = np.add.reduceat(read.upper, begins)
    length = np.add.reduceat(read.end - read.start, begins)
    good = read.cased[begins] & ~read.numeral[begins] & (length > 2) & (count <= LONGEST)
    within = ~read.capital[begins] & (read.upper[begins] > 0)
    good &= within | ((digits > 0) & ((capitals > 0) | (read.digits[begins] > 0)))
    return _Found(begins[good], count[good], IDENTIFIER)


def _rare(read: Words, knowledge: Knowledge) -> Iterator[_Found]:
    """Words, where there are no capital letters, alone and in pairs, and runs of characters that no blanks part."""
    long = read.single | (read.end - read.start >= _WORD_LENGTH)
    at = np.flatnonzero(~read.cased & ~read.single & (read.digits == 0) & long)
    at = at[knowledge.rare.holds(mixed(read.hash[at]))]
    yield _Found(at, np.ones(len(at), np.int64), WORD)
    for count in GRAMS:
        at = grams(read, count)
        at = at[long[at] & long[at + count - 1]]
        at = at[knowledge.rare.holds(phrases(read.hash, at, np.full(len(at), count)))]
        yield _Found(at, np.full(len(at), count), WORD)
