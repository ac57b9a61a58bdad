"""What an answer says if it is a list, yes or no, or a number that is computed."""

import json
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

from pipeline.reward.equality import _folded, equal, quantity

YES = "yes ja oui sí si sì sim tak evet да ναι 是 是的 はい 예 네 نعم हाँ ใช่ có true".split()
NO = "no nein non não nee nej nie hayır нет όχι 否 不是 いいえ 아니요 아니오 لا नहीं ไม่ใช่ không false".split()
SIDES = frozenset(("yes", "no"))
"""What a gold answer is, in lower case, where the question is one of yes or no."""
_AROUND_WORD = " \t\r\n*`\"'“”‘’«»„「」.,!。！"
_SIDES = {_folded(word): side for side, words in (("yes", YES), ("no", NO)) for word in words}
_BULLET = re.compile(r"\A\s*(?:[-*•·]|\d{1,3}[.)])\s+")
_MARKS_BETWEEN = re.compile(r"[\n;；、]+")
_ROUGHLY = re.compile(r"\A\s*(?:about|around|some|roughly|approximately)\s+", re.IGNORECASE)
_AND_WORDS = r"(?:and|und|et|y|e|en|och|og|и)"
_LEADING_AND = re.compile(r"\A\s*(?:(?:and|und|och|og)\s+|&\s*)", re.IGNORECASE)
_SEPARATOR = re.compile(
    rf"(?:(?<!\s)\s+)?[,，،]\s*(?:{_AND_WORDS}\s+)?|(?<!\s)\s+(?:{_AND_WORDS}|&)\s+|[及和与と]", re.IGNORECASE
)
_MOST_NAMES, _MOST_PARTS, _LONGEST_NAME = 64, 256, 6
"""Lines of an answer that are looked at, which is as many as parts of one of them; parts of all its lines; and parts
that may be one name ("Crosby, Stills, Nash and Young")."""


def side(answer: str) -> str:
    """`yes` or `no`, in whatever language; empty for all else, and so for both at once."""
    return _SIDES.get(" ".join(_folded(answer[:100]).strip(_AROUND_WORD).split()), "")


def listed(golds: list[str]) -> tuple[list[list[str]], list[list[str]]]:
    """Return the items of a list, each with its spellings, and the other things that the question names to choose from.

    Args:
        golds: one JSON text: `[["Paris"], ["Rome", "Roma"]]`, or of named things
            `{"items": [["Paris"]], "others": [["Rome", "Roma"]]}`. Any others have no items.
    """
    if len(golds) != 1 or not golds[0].startswith(("[[", '{"items"')):
        return [], []
    read = _read(golds[0])
    if isinstance(read, dict):
        return _items(read.get("items")), _items(read.get("others"))
    return _items(read), []


def tolerance(golds: Sequence[str]) -> str:
    """Return the gold text that says between which limits a computed number is right; empty if there is none."""
    return next((gold for gold in golds if gold.startswith('{"from"')), "")


def lies_within(answer: str, limits: str) -> bool | None:
    """Return whether a number lies within the limits of a gold text; None if the answer is no such number.

    Args:
        answer: a number with or without its unit.
        limits: `{"from": "58/3", "to": "20.7", "unit": "%"}`, with limits in that unit.
    """
    found = _read(limits)
    if not isinstance(found, dict):
        return None
    unit, text = str(found["unit"]), _ROUGHLY.sub("", answer.strip())
    if unit and quantity(text) is None and text.casefold().endswith(unit.casefold()):
        text = text[: -len(unit)]
    if (amount := quantity(text)) is None or amount.of or amount.doubtful:
        return None
    number = amount.number
    if amount.unit:
        own = quantity(f"1 {unit}")
        if own is None or own.unit is None or own.unit[0] != amount.unit[0]:
            return None
        number = number * amount.unit[1] / own.unit[1]
    return Fraction(found["from"]) <= number <= Fraction(found["to"])


def _items(found: object) -> list[list[str]]:
    """A list of items, each a list of its spellings; none where it is anything else."""
    items = found if isinstance(found, list) and all(isinstance(item, list) and item for item in found) else []
    return items if all(isinstance(name, str) for item in items for name in item) else []


def _read(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def compared(answer: str, items: list[list[str]]) -> tuple[set[int], list[str]]:
    """The places of the items that an answer names, and what else it names, each once.

    The answer is a JSON array, or names parted by lines, semicolons, commas or "and". A name may hold commas and "and"
    itself, so that the longest stretch that is an item counts as one. A bullet, a number or an "and" before a name is
    none of it, unless the item stands there with it ("1. FC Köln").
    """
    found: set[int] = set()
    others: dict[str, str] = {}
    whole = _array(answer)
    parts = [part for part in whole or _MARKS_BETWEEN.split(answer) if _bare(part).strip()]
    if len(answer) > 20 * sum(len(name) for item in items for name in item) + 200 or len(parts) > _MOST_NAMES:
        return set(), [answer]
    if not whole and sum(1 + len(_SEPARATOR.findall(part)) for part in parts) > _MOST_PARTS:
        return set(), [answer]
    for part in parts:
        named, rest = _names_of(part, items, split=not whole)
        found |= named
        # What holds no item at all is one wrong name, whatever it is made of, where names are parted by other marks.
        for name in rest if named or len(parts) == 1 else [part if whole else _bare(part)]:
            others.setdefault(" ".join(_folded(name).split()), name.strip())
    return found, list(others.values())


def _bare(part: str) -> str:
    return _LEADING_AND.sub("", _BULLET.sub("", part), count=1)


def score_list(answer: str, items: list[list[str]], others: list[list[str]]) -> float:
    """Return 1 for an answer that names each item and nothing else.

    Of named things it is the share of the items minus the share of the others that the answer names, at least 0: that
    is what a blind guess gets on average, however many it names. Where nothing is named to choose from it is the set
    F1, or 0 for more than twice as many names as items, which is a guess.
    """
    named, unknown = compared(answer, [*items, *others])
    right = sum(place < len(items) for place in named)
    wrong = len(named) - right + len(unknown)
    if others:
        return max(0.0, right / len(items) - wrong / len(others))
    total = right + wrong
    return 0.0 if total > 2 * len(items) else 2 * right / (total + len(items))


def _array(answer: str) -> list[str]:
    items = _read(answer) if answer.strip().startswith("[") else None
    return items if isinstance(items, list) and all(isinstance(item, str) for item in items) else []


def _names_of(part: str, items: list[list[str]], *, split: bool) -> tuple[set[int], list[str]]:
    """The items that stand in a part of an answer, and its other names."""
    cuts = [found.span() for found in _SEPARATOR.finditer(part)] if split else []
    starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(part)]
    if len(starts) > _MOST_NAMES:
        return set(), [part[start:end] for start, end in zip(starts, ends, strict=True)]

    @cache
    def which(first: int, last: int) -> int:
        """The item that stands from one name to another; -1 where none does."""
        name = part[starts[first] : ends[last]]
        texts = dict.fromkeys((name, _bare(name)) if split else (name,))
        return next((n for text in texts for n, item in enumerate(items) if equal(text, item)), -1)

    def two(first: int, last: int) -> bool:
        """Is it an item and after it another one? "Göttingen, Munich" could be the place with its region."""
        one = which(first, last)
        return any(which(first, n) == one and which(n + 1, last) not in (-1, one) for n in range(first, last))

    found: set[int] = set()
    others: list[str] = []
    place = 0
    while place < len(starts):
        stretches = range(min(place + _LONGEST_NAME, len(starts)) - 1, place - 1, -1)
        last = next((last for last in stretches if which(place, last) >= 0 and not two(place, last)), -1)
        if last >= 0:
            found.add(which(place, last))
            place = last
        elif (name := part[starts[place] : ends[place]]).strip():
            others.append(_bare(name) if split else name)
        place += 1
    return found, others
