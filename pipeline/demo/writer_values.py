"""Build wrong answers that look like the right one.

They are a date with another year, a number of similar size, or another name.
"""

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


def wrong(answer: str, names: Sequence[str], text: str, seed: str) -> list[str]:
    """Return wrong answers in random order.

    Args:
        answer: the right answer.
        names: the wrong answers if the right one is a name.
        text: the passage. It contains none of the wrong answers, and no wrong year is later than all of its years.
        seed: the seed of the order.
    """
    if dates(answer):
        latest = max(map(int, _YEAR.findall(text)), default=9999)
        shifted = [_shift_year(answer, by) for by in _YEARS]
        candidates = [date for date in shifted if all(int(year) <= latest for year in _YEAR.findall(date))]
    elif numbers(answer):
        candidates = _numbers(answer)
    else:
        candidates = list(names)
    fitting = [value for value in dict.fromkeys(candidates) if value and value != answer and value not in text]
    random.Random(seed).shuffle(fitting)
    return fitting


def rival(answer: str, title: str, text: str) -> str:
    """Return a value of the answer's kind from a passage: its first year or number, or the name of its subject."""
    if not (dates(answer) or numbers(answer)):
        name = strip_tag(title)
        return name if name in text else ""
    match = (_YEAR if dates(answer) else _FIGURE).search(text)
    return match.group() if match else ""


def remaining_count(answer: str, part: str) -> str:
    """Return the answer minus `part` if it is a count and `part` a smaller one, else an empty string."""
    figure, part_figure = _FIGURE.search(answer), _FIGURE.search(part)
    if dates(answer) or not figure or not part_figure or "." in figure.group():
        return ""
    remaining = _value(figure.group()) - _value(part_figure.group())
    return _replace_number(answer, figure, remaining) if remaining > 0 else ""


def _shift_year(date: str, by: int) -> str:
    return _YEAR.sub(lambda year: str(int(year.group()) + by), date)


def _numbers(answer: str) -> list[str]:
    figure = _FIGURE.search(answer)
    if figure is None:
        return [re.sub("|".join(_SPELT), word, answer.lower(), count=1) for word in _SPELT]
    value = _value(figure.group())
    near = [value + by for by in (-3, -2, -1, 1, 2, 3)] if value < _SMALL else [value * share for share in _SHARES]
    return [_replace_number(answer, figure, wrong_value) for wrong_value in near if wrong_value > 0]


def _value(figure: str) -> float:
    return float(figure.replace(",", ""))


def _replace_number(answer: str, figure: re.Match[str], value: float) -> str:
    places, comma = len(figure.group().partition(".")[2]), "," if "," in figure.group() else ""
    return f"{answer[: figure.start()]}{value:{comma}.{places}f}{answer[figure.end() :]}"
