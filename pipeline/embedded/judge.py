"""The judge's rules: names by normalised equality, dates at the precision asked, quantities with a margin; else no."""

import re

import orjson

from pipeline import prompts
from pipeline.llm.base import Request
from pipeline.text import dates, normalise, numbers
from pipeline.types import Message

MARGIN = 0.01
_COUNTED = re.compile(r"^\D{0,4}\d[\d,]*$")
_DECADE = re.compile(r"\d0s\b")
_UNITS = {
    **dict.fromkeys(("m", "metre", "metres", "meter", "meters"), ("length", 1.0)),
    **dict.fromkeys(("km", "kilometre", "kilometres", "kilometer", "kilometers"), ("length", 1000.0)),
    **dict.fromkeys(("cm", "centimetre", "centimetres", "centimeter", "centimeters"), ("length", 0.01)),
    **dict.fromkeys(("mi", "mile", "miles"), ("length", 1609.344)),
    **dict.fromkeys(("ft", "foot", "feet"), ("length", 0.3048)),
    **dict.fromkeys(("year", "years", "yrs"), ("time", 365.25)),
    **dict.fromkeys(("month", "months"), ("time", 30.44)),
    **dict.fromkeys(("day", "days"), ("time", 1.0)),
}
_UNIT = re.compile(r"[-\s]*([^\W\d_]+)")


def judge(request: Request) -> Message:
    """A `verdict` on the fenced inputs of the last message."""
    inputs = prompts.unfence(request.messages[-1].content) or {}
    known = [inputs["answer"], *inputs["answer_aliases"]]
    response = inputs["response"]
    if inputs["answer_type"] == "date":
        right = any(_same_date(response, answer, inputs["answer_precision"]) for answer in known)
    elif inputs["answer_type"] == "number":
        right = any(_same_number(response, answer) for answer in known)
    else:
        right = False
    right = right or any(normalise(response) == normalise(answer) for answer in known)
    content = orjson.dumps({"correct": right, "reason": "equal under the rules" if right else "not equal"})
    return Message(role="assistant", content=content.decode())


def _same_date(response: str, answer: str, precision: str) -> bool:
    """Equal in every part that the question asks for; more detail is fine, less is not, several dates are a hedge."""
    given, known = dates(response), dates(answer)
    if len(given) != 1 or not known or _DECADE.search(response):
        return False
    parts = {"": 3, "day": 3, "month": 2, "year": 1}[precision or known[0].precision]
    return given[0][:parts] == known[0][:parts]


def _same_number(response: str, answer: str) -> bool:
    """Counts and years must be equal; a quantity with a fraction, a scale word or a unit may differ by one per cent.

    Where both name a unit of length or time, they are compared in it.
    """
    given, known = numbers(response), numbers(answer)
    if len(given) != 1 or not known:
        return False
    a, b = given[0].value, known[0].value
    mine, other = _unit(response, given[0].span.end), _unit(answer, known[0].span.end)
    if mine and other and mine != other:
        a, b = a * mine[1], b * other[1]
        return mine[0] == other[0] and abs(a - b) <= MARGIN * abs(b)
    if _COUNTED.match(answer.strip()):
        return a == b
    return abs(a - b) <= MARGIN * abs(b)


def _unit(text: str, start: int) -> tuple[str, float] | None:
    """Kind and size of the unit that the word after the number names."""
    word = _UNIT.match(text, start)
    return _UNITS.get(word[1].lower()) if word else None
