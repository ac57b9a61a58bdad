"""What an answer says where it is a list, or yes or no."""

import json
import re

from pipeline.reward.equality import _folded, equal

YES = "yes ja oui sí si sì sim tak evet да ναι 是 是的 はい 예 네 نعم हाँ ใช่ có true".split()
NO = "no nein non não nee nej nie hayır нет όχι 否 不是 いいえ 아니요 아니오 لا नहीं ไม่ใช่ không false".split()
SIDES = frozenset(("yes", "no"))
"""What a gold answer is, in lower case, where the question is one of yes or no."""
_AROUND_WORD = " \t\r\n*`\"'“”‘’«»„「」.,!。！"
_SIDES = {_folded(word): side for side, words in (("yes", YES), ("no", NO)) for word in words}
_BULLET = re.compile(r"\A\s*(?:[-*•·]|\d{1,3}[.)])\s+")
_MARKS_BETWEEN = re.compile(r"[\n;；、]+")
_AND_WORDS = r"(?:and|und|et|y|e|en|och|og|и)"
_LEADING_AND = re.compile(r"\A\s*(?:(?:and|und|och|og)\s+|&\s*)", re.IGNORECASE)
_SEPARATOR = re.compile(rf"\s*[,，،]\s*(?:{_AND_WORDS}\s+)?|\s+(?:{_AND_WORDS}|&)\s+|[及和与と]", re.IGNORECASE)
_MOST_NAMES, _LONGEST_NAME = 64, 6
"""Parts of an answer that are looked at, and parts that may be one name ("Crosby, Stills, Nash and Young")."""


def side(answer: str) -> str:
    """`yes` or `no`, in whatever language; empty for all else, and so for both at once."""
    return _SIDES.get(" ".join(_folded(answer[:100]).strip(_AROUND_WORD).split()), "")


def listed(golds: list[str]) -> list[list[str]]:
    """The items of a list, each with its spellings, from their one JSON text `[["Paris"], ["Rome", "Roma"]]`; none for
    the gold answers of any other question."""
    if len(golds) != 1 or not golds[0].startswith("[["):
        return []
    try:
        items = json.loads(golds[0])
    except (ValueError, RecursionError):
        return []
    whole = isinstance(items, list) and all(isinstance(item, list) and item for item in items)
    return items if whole and all(isinstance(name, str) for item in items for name in item) else []


def compared(answer: str, items: list[list[str]]) -> tuple[set[int], list[str]]:
    """The places of the items that an answer names, and what else it names, each once.

    The answer is a JSON array, or names parted by lines, semicolons, commas or "and". A name may hold commas and "and"
    itself, so that the longest stretch that is an item counts as one.
    """
    found: set[int] = set()
    others: dict[str, str] = {}
    whole = _array(answer)
    parts = whole or [_LEADING_AND.sub("", _BULLET.sub("", part), count=1) for part in _MARKS_BETWEEN.split(answer)]
    parts = [part for part in parts if part.strip()]
    if len(answer) > 20 * sum(len(name) for item in items for name in item) + 200 or len(parts) > _MOST_NAMES:
        return set(), [answer]
    for part in parts:
        named, rest = _names_of(part, items, split=not whole)
        found |= named
        # What holds no item at all is one wrong name, whatever it is made of, where names are parted by other marks.
        for name in rest if named or len(parts) == 1 else [part]:
            others.setdefault(" ".join(_folded(name).split()), name.strip())
    return found, list(others.values())


def f1(answer: str, items: list[list[str]]) -> float:
    """Set F1: 1 where an answer names each item and nothing else. Nothing for one that names more than twice as many
    things as there are items, which is a guess."""
    found, others = compared(answer, items)
    said = len(found) + len(others)
    return 0.0 if said > 2 * len(items) else 2 * len(found) / (said + len(items))


def _array(answer: str) -> list[str]:
    try:
        items = json.loads(answer) if answer.strip().startswith("[") else None
    except (ValueError, RecursionError):
        return []
    return items if isinstance(items, list) and all(isinstance(item, str) for item in items) else []


def _names_of(part: str, items: list[list[str]], *, split: bool) -> tuple[set[int], list[str]]:
    """The items that stand in a part of an answer, and its other names."""
    cuts = [found.span() for found in _SEPARATOR.finditer(part)] if split else []
    starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(part)]
    if len(starts) > _MOST_NAMES:
        return set(), [part[start:end] for start, end in zip(starts, ends, strict=True)]
    found: set[int] = set()
    others: list[str] = []
    place = 0
    while place < len(starts):
        for last in range(min(place + _LONGEST_NAME, len(starts)) - 1, place - 1, -1):
            name = part[starts[place] : ends[last]]
            same = next((number for number, item in enumerate(items) if equal(name, item)), None)
            if same is not None:
                found.add(same)
                place = last
                break
        else:
            others += [part[starts[place] : ends[place]]] if part[starts[place] : ends[place]].strip() else []
        place += 1
    return found, others
