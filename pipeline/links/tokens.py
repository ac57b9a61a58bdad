"""The words of many texts at once, as columns of numbers: where each stands, how it is written, and a hash of it.

Nothing here loops over words. A text is a row of code points; a hash is taken from sums that run over all of it.
"""

import re
import sys
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import numpy.typing as npt

from pipeline.text import MONATE, SINGLE

U64 = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

_WORD, _UPPER, _LOWER, _DIGIT, _SINGLE, _END, _BLANK, _TIE, _LEFT_OUT = (1 << n for n in range(9))
_ENDS, _TIES, _APOSTROPHES = ".!?。！？｡؟۔।॥።", "-._/&+@:", "'’"
"""What may end a sentence; what stands between the parts of one word, as in `CVE-2021-44228`."""
_ODD, _STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1342543DE82EF95)
_BACK = np.uint64(pow(int(_STEP), -1, 1 << 64))
LONGEST = 8
"""Words of a phrase, at most."""
_KANA = slice(0x3040, 0x3100)
"""Where kana end, a word does; characters of Han stand alone."""
_GEORGIAN = range(0x10D0, 0x1100)
"""Small letters by Unicode, but no name begins with a capital."""
_SMALL = 0x20000
"""Code points below are looked at one by one; above there is Han, and little else."""


@cache
def _tables() -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint32]]:
    """What each code point is, and its lower case."""
    flags, lower = np.zeros(sys.maxunicode + 1, np.uint16), np.arange(sys.maxunicode + 1, dtype=np.uint32)
    flags[_SMALL:0x40000] = _WORD | _SINGLE
    single = re.compile(f"[{SINGLE}]")
    for code in range(_SMALL):
        character = chr(code)
        kind = unicodedata.category(character)
        if kind[0] in "LMN":
            small_letter = kind == "Ll" and code not in _GEORGIAN
            flags[code] = _WORD | _DIGIT * (kind == "Nd") | _UPPER * (kind in {"Lu", "Lt"}) | _LOWER * small_letter
            small = character.lower()
            lower[code] = ord(small) if len(small) == 1 else code
        elif character.isspace() or kind == "Cc":
            flags[code] = _BLANK
        if single.match(character):
            flags[code] |= _WORD | _SINGLE
    flags[_KANA] &= ~np.uint16(_SINGLE)
    for characters, flag in ((_ENDS, _END), (_TIES, _TIE), (_APOSTROPHES, _LEFT_OUT)):
        flags[[ord(character) for character in characters]] |= flag
    return flags, lower


@dataclass(frozen=True, slots=True)
class Words:
    """The words of some texts, a column each."""

    text: Ints
    """The number of the text."""
    start: Ints
    end: Ints
    """Code points of that text."""
    hash: U64
    """Of the word in lower case."""
    sentence: Ints
    """A number that grows by one with each sentence; a line is one at least."""
    first: Bools
    """Does the sentence begin with it?"""
    upper: Ints
    """Its capital letters."""
    capital: Bools
    """Is its first letter a capital?"""
    digits: Ints
    numeral: Bools
    """Does it begin with a digit?"""
    cased: Bools
    """Has its script capital letters?"""
    single: Bools
    """Is it a character of a script without blanks between words, or of Korean, which writes particles on to them?"""
    tied: Bools
    """Is it tied to the word before by one mark and no blank, as the parts of `CVE-2021-44228`?"""
    elided: Bools
    """Is it tied to the word before by an apostrophe?"""
    near: Bools
    """Does a blank alone, or a mark that ties, part it from the word before, in the same sentence?"""

    def __len__(self) -> int:
        return len(self.text)


def words(texts: Sequence[str]) -> Words:
    """At most some millions of characters at a time: a hundred bytes and more are needed for each."""
    flags, lower = _tables()
    lengths = np.array([len(text) for text in texts], np.int64)
    begins = np.concatenate([[0], np.cumsum(lengths + 1)])[:-1].astype(np.int64)
    codes = np.frombuffer("\n".join([*texts, ""]).encode("utf-32-le", "replace"), np.uint32)
    flag = flags[codes]
    word, single = (flag & _WORD) != 0, (flag & _SINGLE) != 0
    before = np.concatenate([[False], word[:-1]])
    kana = (codes >= _KANA.start) & (codes < _KANA.stop)
    joined = before & ~single & ~np.concatenate([[False], single[:-1]])
    joined[1:] &= kana[1:] == kana[:-1]
    start = np.flatnonzero(word & ~joined)
    after = np.concatenate([word[1:], [False]])
    end = np.flatnonzero(word & ~(after & np.concatenate([joined[1:], [False]]))) + 1
    text = np.searchsorted(begins, start, side="right") - 1

    def within(mask: Any) -> Ints:
        """How many of a word's characters have the flag."""
        held = sums(mask)
        found: Ints = held[end] - held[start]
        return found

    upper, small = within((flag & _UPPER) != 0), within((flag & _LOWER) != 0)
    capital = (flag[start] & _UPPER) != 0
    gap = np.concatenate([[0], start[1:] - end[:-1]])
    mark = flag[np.maximum(start - 1, 0)]
    tied = (gap == 1) & ((mark & _TIE) != 0)
    hashes, digits = _hashes(lower[codes], start, end), within((flag & _DIGIT) != 0)
    goes_on = ((small > 0) & ~capital) | np.isin(hashes, _months())
    short = _abbreviated(codes, start, end, upper, small) | _days(codes, start, end, digits, goes_on)
    first = _first(codes, flag, start, end, capital | (small == 0), short)
    parted = (gap == 1) | ((gap == 2) & np.concatenate([[False], short[:-1]]))
    near = ~first & ((gap == 0) | tied | (parted & ((mark & (_BLANK | _LEFT_OUT)) != 0)))
    return Words(
        text=text, start=start - begins[text], end=end - begins[text], hash=hashes,
        sentence=np.cumsum(first), first=first, upper=upper, capital=capital, digits=digits,
        numeral=(flag[start] & _DIGIT) != 0,
        cased=(upper + small) > 0, single=single[start], tied=tied & ~first,
        elided=(gap == 1) & ((mark & _LEFT_OUT) != 0) & ~first, near=near,
    )  # fmt: skip


def _abbreviated(codes: Any, start: Ints, end: Ints, upper: Ints, small: Ints) -> Bools:
    """Could a full stop after the word belong to it, as to an initial and to St or Mr? Cup and War end a sentence."""
    length = end - start
    short = (upper == 1) & (small + upper == length) & (length <= 2)
    return short & (codes[np.minimum(end, len(codes) - 1)] == ord("."))  # type: ignore[no-any-return]


def _days(codes: Any, start: Ints, end: Ints, digits: Ints, goes_on: Bools) -> Bools:
    """Is it the day of a date with its point, as in "24. Oktober 1832" and "12. mai"?"""
    length = end - start
    day = (digits == length) & (length <= 2) & (codes[np.minimum(end, len(codes) - 1)] == ord("."))
    day[-1:] = False
    day[:-1] &= goes_on[1:]
    return day  # type: ignore[no-any-return]


@cache
def _months() -> U64:
    """The hashes of German months, which have capital letters as beginnings of sentences do."""
    _, lower = _tables()
    codes = [lower[np.frombuffer(name.encode("utf-32-le"), np.uint32)] for name in MONATE]
    return np.concatenate([_hashes(code, np.zeros(1, np.int64), np.array([len(code)])) for code in codes])


def _first(codes: Any, flag: Any, start: Ints, end: Ints, may: Bools, short: Bools) -> Bools:
    """Which words a sentence begins with; each text stands on a line of its own."""
    lines, ends, blanks = map(sums, (codes == ord("\n"), (flag & _END) != 0, (flag & _BLANK) != 0))
    from_, to = end[:-1], start[1:]
    stop = (ends[to] > ends[from_]) & ~(short[:-1] & (to - from_ == 2))
    wide = codes[np.minimum(from_, len(codes) - 1)] > 0x2FFF
    closed = stop & may[1:] & ((blanks[to] > blanks[from_]) | wide)
    found = np.ones(len(start), np.bool_)
    found[1:] = (lines[to] > lines[from_]) | closed
    return found


def sums(mask: Any) -> Any:
    """Of all before each place, and at last of all."""
    found = np.zeros(len(mask) + 1, np.int32)
    np.cumsum(mask, out=found[1:])
    return found


@cache
def _powers(count: int) -> tuple[U64, U64]:
    steps = [np.full(count, step, np.uint64) for step in (_STEP, _BACK)]
    for step in steps:
        step[0] = 1
    return np.cumprod(steps[0]), np.cumprod(steps[1])


def _hashes(codes: Any, start: Ints, end: Ints) -> U64:
    up, down = _powers(1 << len(codes).bit_length())
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum((codes + np.uint64(1)) * _ODD * up[: len(codes)])])
    return mixed((sums[end] - sums[start]) * down[start])


def mixed(values: U64) -> U64:
    """All bits of each rest on all of its bits (the finaliser of splitmix64)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def phrases(hashes: U64, first: Ints, count: Ints) -> U64:
    """The hashes of phrases of so many words, from the first of each."""
    total = np.zeros(len(first), np.uint64)
    for number in range(int(count.max(initial=0))):
        there = count > number
        total[there] += hashes[first[there] + number] * np.uint64(pow(int(_STEP), number, 1 << 64))
    return mixed(total)
