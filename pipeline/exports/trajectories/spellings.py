"""The common ways to write an answer that is a date or a number, for rewards that compare text.

A reward by exact match scores "March 12, 1875" as wrong if the gold answer is "12 March 1875". Every spelling listed
here means exactly the same day or value.
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
"""The beginnings of words for million, milliard and thousand in other languages."""
_PARTS = {"": 3, "day": 3, "month": 2, "year": 1}
"""How many of year, month and day an answer must give, by its precision."""


def spellings(draft: Draft) -> list[str]:
    """Return the answer, its aliases, and their other spellings, each once, the answer first.

    A list is one JSON text for `reward.py`: its items, each with its aliases, and the other candidates that the
    question names. For a yes-or-no question the English word is added, by which `reward.py` recognises such a question
    in any language.
    """
    if items := list_items(draft):
        names = [item.spellings for item in items]
        candidates = other_candidates(draft)
        return [orjson.dumps({"items": names, "others": candidates} if candidates else names).decode()]
    answers = [draft.answer, *draft.answer_aliases]
    forms: list[str] = []
    for text in answers:
        if draft.answer_type is AnswerType.DATE:
            days = dates(text)
            forms += _spell_date(days[0], _PARTS[draft.answer_precision]) if len(days) == 1 else []
        elif draft.answer_type is AnswerType.BOOLEAN:
            forms += filter(None, [side(text)])
        elif draft.answer_type is AnswerType.NUMBER:
            amounts = numbers(text)
            forms += _spell_number(text, amounts[0]) if len(amounts) == 1 else []
    return list(dict.fromkeys([*answers, *forms, *filter(None, [answer_limits(draft)])]))


def _spell_date(date: Date, least_parts: int) -> list[str]:
    year, month, day = str(date.year), MONTHS[date.month - 1] if date.month else "", date.day
    forms = []
    if day:
        nth = f"{day}{'th' if 10 < day < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"
        for name in (month, month[:3]):
            forms += [f"{day} {name} {year}", f"{name} {day}, {year}"]
        forms += [f"{nth} {month} {year}", f"{month} {nth}, {year}", f"{nth} of {month} {year}"]
        forms += [f"{year}-{date.month:02}-{day:02}"]
    if month and least_parts < 3:
        forms += [f"{month} {year}", f"{month[:3]} {year}", f"{month} of {year}", f"{year}-{date.month:02}"]
    return forms if least_parts > 1 else [*forms, year]


def _spell_number(text: str, number: Number) -> list[str]:
    """Return the value in several spellings, with and without its unit.

    It is in digits, with and without groups, in words if small, in millions if round.
    """
    before, written, after = text[: number.span.start], text[slice(*number.span)], text[number.span.end :]
    if before.strip() or len("".join(filter(str.isdigit, written)).strip("0")) > sys.float_info.dig:
        return []
    # Rounded, since 8.14 million is parsed as 8140000.000000001.
    value = Decimal(f"{number.value:.{sys.float_info.dig}g}")
    amount = quantity(written)
    if amount is None or amount.number != Fraction(value):
        return []
    if amount.doubtful:
        in_context = quantity(text)
        if in_context is None or in_context.doubtful or in_context.number != amount.number:
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
