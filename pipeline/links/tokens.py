"""Split many texts into words at once, as arrays: the position of each word, how it is written, and its hash.

Nothing here loops over words. A text is an array of code points, and word hashes come from cumulative sums over it.
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
"""Marks that may end a sentence, marks that join the parts of a word (as in `CVE-2021-44228`), and apostrophes."""
_ODD, _STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1342543DE82EF95)
_BACK = np.uint64(pow(int(_STEP), -1, 1 << 64))
LONGEST = 8
"""Most words of a phrase."""
_KANA = slice(0x3040, 0x3100)
"""A word ends where its kana end. Each Han character is a word."""
_GEORGIAN = range(0x10D0, 0x1100)
"""Unicode calls these small letters, but Georgian names do not begin with a capital."""
_SMALL = 0x20000
"""Code points below are classified one by one. Those above are almost all Han."""


@cache
def _build_tables() -> tuple[npt.NDArray[np.uint16], npt.NDArray[np.uint32]]:
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
    """The words of some texts, one array per property."""

    text: Ints
    """Index of the text."""
    start: Ints
    end: Ints
    """Offsets in the text, in code points."""
    hash: U64
    """Hash of the word in lower case."""
    sentence: Ints
    """Index of the sentence, from 1. A line break ends a sentence."""
    first: Bools
    """Whether it is the first word of its sentence."""
    upper: Ints
    """Number of capital letters."""
    capital: Bools
    """Whether its first letter is a capital."""
    digits: Ints
    numeral: Bools
    """Whether it begins with a digit."""
    cased: Bools
    """Whether its script has capital letters."""
    single: Bools
    """Whether it is a character of a script without blanks between words, or of Korean, which appends particles."""
    tied: Bools
    """Whether a single mark and no blank joins it to the previous word, as in `CVE-2021-44228`."""
    elided: Bools
    """Whether an apostrophe joins it to the previous word."""
    near: Bools
    """Whether only a blank or a joining mark separates it from the previous word of the same sentence."""

    def __len__(self) -> int:
        return len(self.text)


def words(texts: Sequence[str]) -> Words:
    """Split texts into words. A call needs more than a hundred bytes per character, so pass a few million at most."""
    flags, lower = _build_tables()
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
        cumulative = sums(mask)
        counts: Ints = cumulative[end] - cumulative[start]
        return counts

    upper, small = within((flag & _UPPER) != 0), within((flag & _LOWER) != 0)
    capital = (flag[start] & _UPPER) != 0
    gap = np.concatenate([[0], start[1:] - end[:-1]])
    mark = flag[np.maximum(start - 1, 0)]
    tied = (gap == 1) & ((mark & _TIE) != 0)
    hashes, digits = _hash_words(lower[codes], start, end), within((flag & _DIGIT) != 0)
    continues_date = ((small > 0) & ~capital) | np.isin(hashes, _hash_months())
    short = _find_abbreviations(codes, start, end, upper, small) | _find_days(codes, start, end, digits, continues_date)
    first = _find_first_words(codes, flag, start, end, capital | (small == 0), short)
    is_gap = (gap == 1) | ((gap == 2) & np.concatenate([[False], short[:-1]]))
    near = ~first & ((gap == 0) | tied | (is_gap & ((mark & (_BLANK | _LEFT_OUT)) != 0)))
    return Words(
        text=text, start=start - begins[text], end=end - begins[text], hash=hashes,
        sentence=np.cumsum(first), first=first, upper=upper, capital=capital, digits=digits,
        numeral=(flag[start] & _DIGIT) != 0,
        cased=(upper + small) > 0, single=single[start], tied=tied & ~first,
        elided=(gap == 1) & ((mark & _LEFT_OUT) != 0) & ~first, near=near,
    )  # fmt: skip


def _find_abbreviations(codes: Any, start: Ints, end: Ints, upper: Ints, small: Ints) -> Bools:
    """Mark words whose full stop may belong to them, such as initials, St and Mr. Cup and War end a sentence."""
    length = end - start
    short = (upper == 1) & (small + upper == length) & (length <= 2)
    return short & (codes[np.minimum(end, len(codes) - 1)] == ord("."))  # type: ignore[no-any-return]


def _find_days(codes: Any, start: Ints, end: Ints, digits: Ints, continues_date: Bools) -> Bools:
    """Mark the day of a date that is written with a point, as in "24. Oktober 1832" and "12. mai"."""
    length = end - start
    day = (digits == length) & (length <= 2) & (codes[np.minimum(end, len(codes) - 1)] == ord("."))
    day[-1:] = False
    day[:-1] &= continues_date[1:]
    return day  # type: ignore[no-any-return]


@cache
def _hash_months() -> U64:
    """Return the hashes of German months, which are capitalised within a sentence."""
    _, lower = _build_tables()
    codes = [lower[np.frombuffer(name.encode("utf-32-le"), np.uint32)] for name in MONATE]
    return np.concatenate([_hash_words(code, np.zeros(1, np.int64), np.array([len(code)])) for code in codes])


def _find_first_words(codes: Any, flag: Any, start: Ints, end: Ints, may_begin: Bools, short: Bools) -> Bools:
    lines, ends, blanks = map(sums, (codes == ord("\n"), (flag & _END) != 0, (flag & _BLANK) != 0))
    from_, to = end[:-1], start[1:]
    stop = (ends[to] > ends[from_]) & ~(short[:-1] & (to - from_ == 2))
    is_wide = codes[np.minimum(from_, len(codes) - 1)] > 0x2FFF
    closed = stop & may_begin[1:] & ((blanks[to] > blanks[from_]) | is_wide)
    is_first = np.ones(len(start), np.bool_)
    is_first[1:] = (lines[to] > lines[from_]) | closed
    return is_first


def sums(mask: Any) -> Any:
    """Return the sum of everything before each index, and the total at the end."""
    totals = np.zeros(len(mask) + 1, np.int32)
    np.cumsum(mask, out=totals[1:])
    return totals


@cache
def _step_powers(count: int) -> tuple[U64, U64]:
    steps = [np.full(count, step, np.uint64) for step in (_STEP, _BACK)]
    for step in steps:
        step[0] = 1
    return np.cumprod(steps[0]), np.cumprod(steps[1])


def _hash_words(codes: Any, start: Ints, end: Ints) -> U64:
    up, down = _step_powers(1 << len(codes).bit_length())
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum((codes + np.uint64(1)) * _ODD * up[: len(codes)])])
    return mix_bits((sums[end] - sums[start]) * down[start])


def mix_bits(values: U64) -> U64:
    """Mix the bits of each value, by the finaliser of splitmix64: every output bit depends on all input bits."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return values ^ (values >> np.uint64(31))


def phrases(hashes: U64, first: Ints, count: Ints) -> U64:
    """Return the hashes of phrases, given the first word and the word count of each."""
    total = np.zeros(len(first), np.uint64)
    for offset in range(int(count.max(initial=0))):
        is_longer = count > offset
        total[is_longer] += hashes[first[is_longer] + offset] * np.uint64(pow(int(_STEP), offset, 1 << 64))
    return mix_bits(total)
