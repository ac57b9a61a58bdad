"""Texts that are hard for one regular expression: fragments of its own alphabet, repeated."""

import random
import re
import warnings
from collections.abc import Iterator
from re import _constants as op
from re import _parser as parser
from typing import Any, NamedTuple

REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)
SHAPES = ' \n\ta1A.é字"'
"""One character of each class that patterns name."""
FAILING = "\0"
"""Ends a text with what no pattern wants, so that every way to match it is tried."""


class Recipe(NamedTuple):
    """A text of any length: a start, a fragment that is repeated, and an end."""

    before: str
    repeated: str
    after: str

    def text(self, length: int, kind: type[str | bytes]) -> Any:
        body = (self.before + self.repeated * (1 + length // len(self.repeated)))[:length]
        text = body + self.after * (length // 4) + FAILING
        return text if kind is str else text.encode("latin-1", "replace")


def recipes(pattern: re.Pattern[Any], count: int) -> list[Recipe]:
    """Return texts that may be hard for a pattern: every way into its repeats, and `count` samples of its parts."""
    maker = _Maker(pattern)
    return list(dict.fromkeys([*maker.ways_into_repeats(), *maker.letters(), *maker.samples(count)]))


class _Maker:
    def __init__(self, pattern: re.Pattern[Any]) -> None:
        written = pattern.pattern if isinstance(pattern.pattern, str) else pattern.pattern.decode("latin-1")
        self._random = random.Random(written)
        with warnings.catch_warnings(action="ignore"):
            self._tree = list(parser.parse(pattern.pattern, pattern.flags))
        letters = list(dict.fromkeys([*_letters(self._tree), *SHAPES]))
        self.alphabet = self._random.sample(letters, min(len(letters), 12))

    def ways_into_repeats(self) -> Iterator[Recipe]:
        for before, body in _repeats(self._tree, ()):
            start = self._sample(before)
            for _ in range(3):
                yield self._recipe(start, self._sample(body))
            yield self._recipe("", start + self._sample(body))
            yield self._recipe("", start)
            yield from (self._recipe(start, letter) for letter in self.alphabet[:6])

    def letters(self) -> Iterator[Recipe]:
        for letter in self.alphabet:
            yield self._recipe("", letter)
            yield self._recipe("", letter + self._random.choice(self.alphabet))

    def samples(self, count: int) -> Iterator[Recipe]:
        for _ in range(count):
            first = self._random.randrange(max(1, len(self._tree)))
            last = self._random.randint(first, len(self._tree))
            start, fragment = self._sample(self._tree[:first]), self._sample(self._tree[first : last + 1])
            yield self._recipe("", fragment)
            yield self._recipe(start, fragment, self._random.choice(self.alphabet))

    def _recipe(self, before: str, repeated: str, after: str = "") -> Recipe:
        return Recipe(before, repeated or self.alphabet[0], after)

    def _sample(self, nodes: Any) -> str:
        return "".join(self._node(kind, value) for kind, value in nodes)

    def _node(self, kind: Any, value: Any) -> str:
        if kind is op.LITERAL:
            return chr(value)
        if kind is op.NOT_LITERAL:
            return next(c for c in self._random.sample(SHAPES, len(SHAPES)) if ord(c) != value)
        if kind is op.ANY:
            return self._random.choice(SHAPES)
        if kind is op.IN:
            return self._random.choice(_members(value, self.alphabet) or ["a"])
        if kind is op.BRANCH:
            return self._sample(self._random.choice(value[1]))
        if kind is op.SUBPATTERN:
            return self._sample(value[3])
        if kind is op.ATOMIC_GROUP:
            return self._sample(value)
        if kind in REPEATS:
            least, most, body = value
            count = min(most, self._random.choice((least, least, max(1, least), least + 1)))
            return "".join(self._sample(body) for _ in range(min(count, 40)))
        if kind is op.GROUPREF_EXISTS:
            return self._sample(value[1])
        if kind is op.ASSERT and value[0] == 1:
            return self._sample(value[1]) if self._random.random() < 0.5 else ""
        return ""


def _children(kind: Any, value: Any) -> list[Any]:
    if kind is op.BRANCH:
        return list(value[1])
    if kind is op.SUBPATTERN:
        return [value[3]]
    if kind is op.ATOMIC_GROUP:
        return [value]
    if kind in REPEATS:
        return [value[2]]
    if kind in (op.ASSERT, op.ASSERT_NOT):
        return [value[1]]
    if kind is op.GROUPREF_EXISTS:
        return [part for part in value[1:] if part is not None]
    return []


def _repeats(nodes: Any, before: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """Find every long repeat, with all that must match before it."""
    for index, (kind, value) in enumerate(nodes):
        path = (*before, *nodes[:index])
        if kind in REPEATS and value[1] > 20:
            yield path, value[2]
        for child in _children(kind, value):
            yield from _repeats(child, path)


def _letters(nodes: Any) -> Iterator[str]:
    for kind, value in nodes:
        if kind in (op.LITERAL, op.NOT_LITERAL):
            yield chr(value)
        elif kind is op.IN:
            yield from _members(value, ())
        for child in _children(kind, value):
            yield from _letters(child)


def _members(items: Any, alphabet: Any) -> list[str]:
    """Characters of a class; of a negated one those of the alphabet that are in it."""
    written = [chr(v) for k, v in items if k is op.LITERAL] + [chr(v[0]) for k, v in items if k is op.RANGE]
    classes = [v for k, v in items if k is op.CATEGORY]
    if items[0][0] is op.NEGATE:
        inside = re.compile(_class(items))
        return [c for c in (*alphabet, *SHAPES) if inside.fullmatch(c)]
    return written + [c for c in (*alphabet, *SHAPES) if any(_CATEGORIES[name].fullmatch(c) for name in classes)]


_CATEGORIES = {
    op.CATEGORY_DIGIT: re.compile(r"\d"), op.CATEGORY_NOT_DIGIT: re.compile(r"\D"),
    op.CATEGORY_SPACE: re.compile(r"\s"), op.CATEGORY_NOT_SPACE: re.compile(r"\S"),
    op.CATEGORY_WORD: re.compile(r"\w"), op.CATEGORY_NOT_WORD: re.compile(r"\W"),
}  # fmt: skip


def _class(items: Any) -> str:
    parts = ""
    for kind, value in items:
        if kind is op.NEGATE:
            parts += "^"
        elif kind is op.LITERAL:
            parts += re.escape(chr(value))
        elif kind is op.RANGE:
            parts += f"{re.escape(chr(value[0]))}-{re.escape(chr(value[1]))}"
        else:
            parts += _CATEGORIES[value].pattern
    return f"[{parts}]"
