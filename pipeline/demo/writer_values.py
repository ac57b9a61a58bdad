"""Wrong answers that look like the right one: a date with another year, a number of about the size, another name."""

import random
import re
from collections.abc import Sequence

from pipeline.text import dates, numbers, strip_tag

_YEARS = (-11, -9, -7, -6, -5, -4, -3, -2, 2, 3, 4, 5, 6, 7, 9, 11)
_SHARES = (0.62, 0.71, 0.78, 0.84, 0.89, 1.13, 1.19, 1.27, 1.36)
_SPELT = "two three four five six seven eight nine ten eleven twelve".split()
_YEAR = re.compile(r"\b\d{4}\b")
_FIGURE = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?")
_SMALL = 20


def wrong(answer: str, names: Sequence[str], told: str, seed: str) -> list[str]:
    """Wrong answers in a random order; none of them stands in `told`. Names are chosen where the answer is one.

    No year is later than all that are told: what is told of had not happened yet.
    """
    if dates(answer):
        latest = max(map(int, _YEAR.findall(told)), default=9999)
        found = [_shifted(answer, by) for by in _YEARS]
        found = [date for date in found if all(int(year) <= latest for year in _YEAR.findall(date))]
    elif numbers(answer):
        found = _numbers(answer)
    else:
        found = list(names)
    fitting = [value for value in dict.fromkeys(found) if value and value != answer and value not in told]
    random.Random(seed).shuffle(fitting)
    return fitting


def rival(answer: str, title: str, text: str) -> str:
    """What a passage gives of the answer's kind: its first year or number, or the name of what it is about."""
    if not (dates(answer) or numbers(answer)):
        name = strip_tag(title)
        return name if name in text else ""
    found = (_YEAR if dates(answer) else _FIGURE).search(text)
    return found.group() if found else ""


def rest(answer: str, part: str) -> str:
    """What a whole number is short of when `part` is taken from it; nothing where that is no smaller count."""
    figure, taken = _FIGURE.search(answer), _FIGURE.search(part)
    if dates(answer) or not figure or not taken or "." in figure.group():
        return ""
    left = _value(figure.group()) - _value(taken.group())
    return _written(answer, figure, left) if left > 0 else ""


def _shifted(date: str, by: int) -> str:
    return _YEAR.sub(lambda year: str(int(year.group()) + by), date)


def _numbers(answer: str) -> list[str]:
    figure = _FIGURE.search(answer)
    if figure is None:
        return [re.sub("|".join(_SPELT), word, answer.lower(), count=1) for word in _SPELT]
    value = _value(figure.group())
    near = [value + by for by in (-3, -2, -1, 1, 2, 3)] if value < _SMALL else [value * share for share in _SHARES]
    return [_written(answer, figure, other) for other in near if other > 0]


def _value(figure: str) -> float:
    return float(figure.replace(",", ""))


def _written(answer: str, figure: re.Match[str], value: float) -> str:
    """The answer with another number in it, written as its own is."""
    places, comma = len(figure.group().partition(".")[2]), "," if "," in figure.group() else ""
    return f"{answer[: figure.start()]}{value:{comma}.{places}f}{answer[figure.end() :]}"
