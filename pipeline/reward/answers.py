"""Scoring of answers that are lists, yes or no, or computed numbers."""

import json
import re
from collections.abc import Sequence
from fractions import Fraction
from functools import cache

from pipeline.reward.equality import _fold, equal, quantity

YES = "yes ja oui sí si sì sim tak evet да ναι 是 是的 はい 예 네 نعم हाँ ใช่ có true".split()
NO = "no nein non não nee nej nie hayır нет όχι 否 不是 いいえ 아니요 아니오 لا नहीं ไม่ใช่ không false".split()
SIDES = frozenset(("yes", "no"))
"""The gold answers, in lower case, of a yes-or-no question."""
_AROUND_WORD = " \t\r\n*`\"'“”‘’«»„「」.,!。！"
_SIDES = {_fold(word): side for side, words in (("yes", YES), ("no", NO)) for word in words}
_BULLET = re.compile(r"\A\s*(?:[-*•·]|\d{1,3}[.)])\s+")
_MARKS_BETWEEN = re.compile(r"[\n;；、]+")
_ROUGHLY = re.compile(r"\A\s*(?:about|around|some|roughly|approximately)\s+", re.IGNORECASE)
_AND_WORDS = r"(?:and|und|et|y|e|en|och|og|и)"
_LEADING_AND = re.compile(r"\A\s*(?:(?:and|und|och|og)\s+|&\s*)", re.IGNORECASE)
_SEPARATOR = re.compile(
    rf"(?:(?<!\s)\s+)?[,，،]\s*(?:{_AND_WORDS}\s+)?|(?<!\s)\s+(?:{_AND_WORDS}|&)\s+|[及和与と]", re.IGNORECASE
)
_MOST_NAMES, _MOST_PARTS, _LONGEST_NAME = 64, 256, 6
"""Limits: lines of an answer and parts of a line; parts of all lines; parts of a name ("Crosby, Stills, Nash and
Young")."""


def side(answer: str) -> str:
    """Return `yes` or `no` for an answer in any language, or an empty text if it is neither or both."""
    return _SIDES.get(" ".join(_fold(answer[:100]).strip(_AROUND_WORD).split()), "")


def parse_list(golds: list[str]) -> tuple[list[list[str]], list[list[str]]]:
    """Return the items of a gold list, each with its spellings, and the wrong choices that the question names.

    Args:
        golds: one JSON text: `[["Paris"], ["Rome", "Roma"]]`, or, if the question names the choices,
            `{"items": [["Paris"]], "others": [["Rome", "Roma"]]}`. Other gold answers give no items.
    """
    if len(golds) != 1 or not golds[0].startswith(("[[", '{"items"')):
        return [], []
    gold = _load_json(golds[0])
    if isinstance(gold, dict):
        return _valid_items(gold.get("items")), _valid_items(gold.get("others"))
    return _valid_items(gold), []


def tolerance(golds: Sequence[str]) -> str:
    """Return the gold text with the limits between which a computed number is right, or an empty text."""
    return next((gold for gold in golds if gold.startswith('{"from"')), "")


def lies_within(answer: str, limits: str) -> bool | None:
    """Return whether a number lies within the limits of a gold text; None if the answer is no such number.

    Args:
        answer: a number with or without its unit.
        limits: `{"from": "58/3", "to": "20.7", "unit": "%"}`, with limits in that unit.
    """
    allowed = _load_json(limits)
    if not isinstance(allowed, dict):
        return None
    unit, text = str(allowed["unit"]), _ROUGHLY.sub("", answer.strip())
    if unit and quantity(text) is None and text.casefold().endswith(unit.casefold()):
        text = text[: -len(unit)]
    if (amount := quantity(text)) is None or amount.of or amount.doubtful:
        return None
    number = amount.number
    if amount.unit:
        limit_unit = quantity(f"1 {unit}")
        if limit_unit is None or limit_unit.unit is None or limit_unit.unit[0] != amount.unit[0]:
            return None
        number = number * amount.unit[1] / limit_unit.unit[1]
    return Fraction(allowed["from"]) <= number <= Fraction(allowed["to"])


def _valid_items(value: object) -> list[list[str]]:
    items = value if isinstance(value, list) and all(isinstance(item, list) and item for item in value) else []
    return items if all(isinstance(name, str) for item in items for name in item) else []


def _load_json(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def match_items(answer: str, items: list[list[str]]) -> tuple[set[int], list[str]]:
    """Return the indexes of the items that an answer names, and the other names in it, each once.

    The answer is a JSON array, or names separated by lines, semicolons, commas or "and". A name may itself contain
    commas and "and", so the longest stretch that is an item counts as one name. A bullet, a number or an "and" before a
    name does not belong to it, unless the item begins with it ("1. FC Köln").
    """
    right: set[int] = set()
    wrong: dict[str, str] = {}
    array = _load_array(answer)
    parts = [part for part in array or _MARKS_BETWEEN.split(answer) if _strip_bullet(part).strip()]
    if len(answer) > 20 * sum(len(name) for item in items for name in item) + 200 or len(parts) > _MOST_NAMES:
        return set(), [answer]
    if not array and sum(1 + len(_SEPARATOR.findall(part)) for part in parts) > _MOST_PARTS:
        return set(), [answer]
    for part in parts:
        indexes, unknown = _find_names(part, items, split=not array)
        right |= indexes
        # If lines or semicolons separate the names, a part without any item counts as one wrong name.
        for name in unknown if indexes or len(parts) == 1 else [part if array else _strip_bullet(part)]:
            wrong.setdefault(" ".join(_fold(name).split()), name.strip())
    return right, list(wrong.values())


def _strip_bullet(part: str) -> str:
    return _LEADING_AND.sub("", _BULLET.sub("", part), count=1)


def score_list(answer: str, items: list[list[str]], others: list[list[str]]) -> float:
    """Return 1 for an answer that names each item and nothing else, and less for other answers.

    If the question names the choices, the score is the share of the items minus the share of the wrong choices that the
    answer names, at least 0: a blind guess gets 0 on average, however many it names. Otherwise the score is the set F1,
    or 0 for more than twice as many names as items, which is a guess.

    Args:
        others: the wrong choices, if the question names choices.
    """
    indexes, unknown = match_items(answer, [*items, *others])
    right = sum(index < len(items) for index in indexes)
    wrong = len(indexes) - right + len(unknown)
    if others:
        return max(0.0, right / len(items) - wrong / len(others))
    total = right + wrong
    return 0.0 if total > 2 * len(items) else 2 * right / (total + len(items))


def _load_array(answer: str) -> list[str]:
    items = _load_json(answer) if answer.strip().startswith("[") else None
    return items if isinstance(items, list) and all(isinstance(item, str) for item in items) else []


def _find_names(part: str, items: list[list[str]], *, split: bool) -> tuple[set[int], list[str]]:
    cuts = [match.span() for match in _SEPARATOR.finditer(part)] if split else []
    starts, ends = [0, *(end for _, end in cuts)], [*(start for start, _ in cuts), len(part)]
    if len(starts) > _MOST_NAMES:
        return set(), [part[start:end] for start, end in zip(starts, ends, strict=True)]

    @cache
    def find_item(first: int, last: int) -> int:
        name = part[starts[first] : ends[last]]
        texts = dict.fromkeys((name, _strip_bullet(name)) if split else (name,))
        return next((n for text in texts for n, item in enumerate(items) if equal(text, item)), -1)

    def names_two_items(first: int, last: int) -> bool:
        """Return whether two items follow each other: "Göttingen, Munich" could be one place with its region."""
        item = find_item(first, last)
        return any(find_item(first, n) == item and find_item(n + 1, last) not in (-1, item) for n in range(first, last))

    right: set[int] = set()
    wrong: list[str] = []
    first = 0
    while first < len(starts):
        stretches = range(min(first + _LONGEST_NAME, len(starts)) - 1, first - 1, -1)
        last = next((n for n in stretches if find_item(first, n) >= 0 and not names_two_items(first, n)), -1)
        if last >= 0:
            right.add(find_item(first, last))
            first = last
        elif (name := part[starts[first] : ends[first]]).strip():
            wrong.append(_strip_bullet(name) if split else name)
        first += 1
    return right, wrong
