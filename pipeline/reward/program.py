"""Compute the answer of an aggregate question from the values that its evidence quotes. A doubt is a ValueError.

Values are texts as passages have them: dates as exact as they are given, amounts with their units, names. The columns
of a record's `program` are the arguments of `compute`, so that whoever has a data set can run it again.
"""

import datetime as dt
import re
from collections.abc import Sequence
from fractions import Fraction

from pipeline.reward.equality import _date, equal, quantity

_NEAR = 2
"""Words beside a value that may belong to it: the day and month of a year, "million", a unit."""
_SPAN = re.compile(r"(?<=(?<!\d)\d{4})-(?=\d{4}(?!\d))")
"""Between two years, as in "(1825-1879)", which states both."""
_EITHER = re.compile(r"(?<![\d.,])([1-9]\d{0,2})([.,])(\d{3})(?![.,]?\d)")
"""A number whose mark may part thousands or decimals."""
_SHOWN = {
    mark: re.compile(
        rf"(?<![\d.,])(?:0[{mark}]\d+|\d+[{mark}](?:\d\d?|\d{{4,}})|\d{{1,3}}(?:[{other}]\d{{3}}){{2,}}"
        rf"|\d{{1,3}}(?:[{other}]\d{{3}})+[{mark}]\d+)(?![.,]?\d)"
    )
    for mark, other in (".,", ",.")
}
"""What shows a mark to be that of decimals: 0.125, 12.5, 1,234,567 and 1,234.5."""


def compute(
    operation: str, values: Sequence[tuple[str, str]], *, unit: str = "", condition: str = "", bound: str = ""
) -> str:
    """The answer from values, each with the name of the thing that has it or an empty one.

    An extreme (`most`, `least`, `earliest`, `latest`) gives that name, or the value where there is none.
    """
    counts = operation == "count" and not condition
    if twice := _twice([name or value for value, name in values if name or counts]):
        raise ValueError(f"'{twice}' is counted twice; give each thing once")
    *texts, bound = _settled([*(value for value, _ in values), bound])
    given = zip(texts, (name or value for value, name in values), strict=True)
    kept = [(text, name) for text, name in given if _passes(text, condition, bound)]
    if operation == "count":
        return str(len(kept))
    if operation in ("most", "least", "earliest", "latest"):
        return _extreme(operation, kept)
    texts = [value for value, _ in kept]
    if operation == "difference":
        if len(texts) != 2:
            raise ValueError(f"a difference is of two values, not of {len(texts)}")
        if unit in ("years", "days") and all(map(_date, texts)):
            return f"{_between(_dated(texts[0]), _dated(texts[1]), unit)} {unit}"
    numbers = _amounts(texts, unit)
    if operation == "difference":
        return _written(abs(numbers[0] - numbers[1]), unit)
    return _written(sum(numbers, Fraction()), unit)


def misquoted(value: str, quote: str) -> str:
    """What is wrong with a date or an amount that should stand in a quote: it does not, or only a part of it is given.
    Empty for one that is right, and for names."""
    date, amount = _date(value), quantity(value)
    if not (date or amount):
        return ""
    value, quote = value.replace("−", "-"), _SPAN.sub("–", quote.replace("−", "-"))
    places = re.finditer(rf"(?<![A-Za-z\d])(?<!\d[.,/-]){re.escape(value)}(?![A-Za-z\d])(?![.,/-]\d)", quote)
    spans = [found.span() for found in places]
    if not spans:
        return f"the quote does not state '{value}'"
    wholes = [_longer(quote, start, end) for start, end in spans]
    return "" if "" in wholes else f"the quote has '{wholes[0]}', of which '{value}' is a part; give all of it"


def _longer(quote: str, start: int, end: int) -> str:
    """The longer date or amount of which a place of a quote is a part."""
    value = quote[start:end]
    date, amount = _date(value), quantity(value)
    lefts = [found.start() for found in re.finditer(r"\S+", quote[:start])][-_NEAR:]
    rights = [end + found.end() for found in re.finditer(r"[^\s,.;:()]+", quote[end:])][:_NEAR]
    for left in (*lefts, start):
        for right in (*reversed(rights), end):
            whole = quote[left:right].strip(" ,.;:()")
            if len(whole) <= len(value):
                continue
            if date and (longer := _date(whole)) and longer[0] and len(longer) > len(date):
                return whole
            more = quantity(whole)
            if date and more and more.unit and whole.lower().endswith(f" {more.unit[0].removesuffix('s')}"):
                continue  # "1967 album" says when, and "1967 albums" how many
            if amount and more and (more.number != amount.number or (more.unit and not amount.unit)):
                return whole
    return ""


def _settled(texts: Sequence[str]) -> list[str]:
    """Without the marks of thousands, and with a zero after three decimals, which leaves no doubt, where one of the
    texts shows which mark is that of decimals."""
    marks = [mark for mark, shown in _SHOWN.items() if any(map(shown.search, texts))]
    if len(marks) != 1:
        return list(texts)
    return [_EITHER.sub(lambda n: f"{n[1]}.{n[3]}0" if n[2] in marks else n[1] + n[3], text) for text in texts]


def _twice(names: Sequence[str]) -> str:
    return next((name for n, name in enumerate(names) if any(equal(name, [one]) for one in names[:n])), "")


def _passes(value: str, condition: str, bound: str) -> bool:
    if condition in ("is", "is not"):
        return equal(value, [bound]) is (condition == "is")
    if condition in ("before", "after"):
        date, limit = _dated(value), _dated(bound)
        shared = min(len(date), len(limit))
        if date[:shared] == limit[:shared]:
            if len(date) < len(limit):
                raise ValueError(f"'{value}' is not exact enough to be {condition} '{bound}' or not")
            return False  # May 1881 lies in 1881, neither before nor after it
        return (date < limit) is (condition == "before")
    if condition:
        amount, limit_of = _amounts([value, bound], bound)
        return amount < limit_of if condition == "under" else amount > limit_of
    return True


def _extreme(operation: str, kept: Sequence[tuple[str, str]]) -> str:
    dated, last = operation in ("earliest", "latest"), operation in ("latest", "most")
    texts = [value for value, _ in kept]
    keys = [_dated(text) for text in texts] if dated else [(one,) for one in _amounts(texts, texts[0] if texts else "")]

    def beyond(key: tuple[Fraction | int, ...], other: tuple[Fraction | int, ...]) -> bool:
        shared = min(len(key), len(other))
        return key[:shared] > other[:shared] if last else key[:shared] < other[:shared]

    for n, (_, name) in enumerate(kept):
        if all(beyond(keys[n], keys[other]) for other in range(len(kept)) if other != n):
            return name
    raise ValueError(f"which is the {operation} cannot be told: values are the same, or not exact enough")


def _dated(text: str) -> tuple[int, ...]:
    date = _date(text)
    if not date or not date[0]:
        raise ValueError(f"'{text}' is no date with a year")
    return date


def _between(one: tuple[int, ...], other: tuple[int, ...], unit: str) -> int:
    """Whole years or days from the earlier to the later. Of two bare years it is what their numbers differ by."""
    early, late = sorted((one, other))
    if unit == "days":
        if len(early) < 3 or len(late) < 3:
            raise ValueError("a difference in days needs two whole dates")
        return (dt.date(*late) - dt.date(*early)).days
    shared = min(len(early), len(late))
    if len(early) != len(late) and early[1:shared] == late[1:shared]:
        raise ValueError(
            "one of the dates is not exact enough for whole years; quote the whole date, or two bare years"
        )
    return late[0] - early[0] - (late[1:shared] < early[1:shared])


def _amounts(texts: Sequence[str], unit: str) -> list[Fraction]:
    """Amounts of one kind, in the unit that a text names, with or without a number."""
    found = []
    for text in texts:
        if (amount := quantity(text)) is None:
            raise ValueError(f"'{text}' is no number with a known unit; give the bare number and name what is counted")
        if amount.doubtful:
            raise ValueError(
                f"the point of '{text}' may part thousands or decimals, and no value shows which: take other values, "
                "and give a bound without it"
            )
        found.append(amount)
    if not any(amount.unit for amount in found):
        return [amount.number for amount in found]
    wanted = (quantity(unit) or quantity(f"1 {unit}")) if unit else None
    if wanted is None or wanted.unit is None:
        raise ValueError(f"the values have units: name the `unit` of the answer, a known one, not '{unit}'")
    kind, size = wanted.unit
    if any(amount.unit is None or amount.unit[0] != kind for amount in found):
        raise ValueError(f"not all values have a unit of the kind of '{unit}'")
    return [amount.number * amount.unit[1] / size for amount in found if amount.unit]


def _written(number: Fraction, unit: str) -> str:
    """The number as a decimal, with its unit."""
    scaled = number * 10**6
    if scaled.denominator != 1:
        raise ValueError("the answer is no number of at most six decimals; name another `unit`")
    whole, rest = divmod(abs(int(scaled)), 10**6)
    decimals = f"{rest:06}".rstrip("0")
    sign = "-" if number < 0 else ""
    return f"{sign}{whole}{'.' if decimals else ''}{decimals} {unit}".strip()
