"""The common ways to write an answer that is a date or a number, for rewards that compare text.

A reward by exact match scores "March 12, 1875" as wrong where the gold answer reads "12 March 1875". What is listed
here is the same day or the same value and nothing near it.
"""

import re
import sys
from decimal import Decimal
from fractions import Fraction

import orjson

from pipeline.agents.answers import answer_limits, list_items, other_candidates
from pipeline.reward.answers import side
from pipeline.reward.equality import quantity
from pipeline.text import MONTHS, Date, Number, dates, numbers
from pipeline.types import AnswerType, Draft

_SMALL = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen twenty".split()
)
_SCALES = ((10**9, "billion"), (10**6, "million"))
_SCALE = re.compile(r"\s*(?:mi[lo]|mrd|tausend|bi[lh]|lakh|crore|мил|млн|млрд|тыс)", re.IGNORECASE)
"""As millions, milliards and thousands begin in other languages."""
_PARTS = {"": 3, "day": 3, "month": 2, "year": 1}


def spellings(draft: Draft) -> list[str]:
    """Return the answer, its aliases, and their other spellings; each once, the answer first.

    Of a list that is one JSON text, which `reward.py` reads: its items, each with its aliases, and beside them the
    other things that the question names to choose from. Of yes or no also that word, by which it knows such a question
    in any language.
    """
    if items := list_items(draft):
        names = [item.spellings for item in items]
        others = other_candidates(draft)
        return [orjson.dumps({"items": names, "others": others} if others else names).decode()]
    known = [draft.answer, *draft.answer_aliases]
    more: list[str] = []
    for text in known:
        if draft.answer_type is AnswerType.DATE:
            found = dates(text)
            more += _dates(found[0], _PARTS[draft.answer_precision]) if len(found) == 1 else []
        elif draft.answer_type is AnswerType.BOOLEAN:
            more += filter(None, [side(text)])
        elif draft.answer_type is AnswerType.NUMBER:
            amounts = numbers(text)
            more += _numbers(text, amounts[0]) if len(amounts) == 1 else []
    return list(dict.fromkeys([*known, *more, *filter(None, [answer_limits(draft)])]))


def _dates(date: Date, asked: int) -> list[str]:
    """All forms with at least the `asked` parts (year, month, day), as far as they are known."""
    year, month, day = str(date.year), MONTHS[date.month - 1] if date.month else "", date.day
    forms = []
    if day:
        nth = f"{day}{'th' if 10 < day < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"
        for name in (month, month[:3]):
            forms += [f"{day} {name} {year}", f"{name} {day}, {year}"]
        forms += [f"{nth} {month} {year}", f"{month} {nth}, {year}", f"{nth} of {month} {year}"]
        forms += [f"{year}-{date.month:02}-{day:02}"]
    if month and asked < 3:
        forms += [f"{month} {year}", f"{month[:3]} {year}", f"{month} of {year}", f"{year}-{date.month:02}"]
    return forms if asked > 1 else [*forms, year]


def _numbers(text: str, number: Number) -> list[str]:
    """The value in digits, with and without groups, in words if small, in millions if round; with its unit and bare.
    Nothing for a number with more digits than a float holds, or whose point may part thousands (12.000); and no bare
    form before a scale of another language ("Millionen")."""
    before, written, after = text[: number.span.start], text[slice(*number.span)], text[number.span.end :]
    if before.strip() or len("".join(filter(str.isdigit, written)).strip("0")) > sys.float_info.dig:
        return []
    # 8.14 million is read as 8140000.000000001.
    value = Decimal(f"{number.value:.{sys.float_info.dig}g}")
    read = quantity(written)
    if read is None or read.number != Fraction(value):
        return []
    if read.doubtful and ((whole := quantity(text)) is None or whole.doubtful or whole.number != read.number):
        return []
    forms = [f"{value:f}", f"{value:,f}"]
    if value == int(value):
        forms += [f"{value:,f}".replace(",", " ")]
        forms += [_SMALL[int(value)]] if 0 <= value < len(_SMALL) else []
    for scale, name in _SCALES:
        if value >= scale and value * 100 % scale == 0:
            forms.append(f"{value / scale:f} {name}")
            break
    return [f"{form}{after}" for form in forms] + (forms if after.strip() and not _SCALE.match(after) else [])
