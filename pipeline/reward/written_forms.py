"""One spelling for things with several: numerals, ordinals, fractions, abbreviations, eras, ranges, TeX's boxes."""

import re
from fractions import Fraction

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety".split()
_CARDINAL = dict(zip(_ONES, range(20), strict=True)) | dict(zip(_TENS, range(20, 100, 10), strict=True))
_NTHS = (
    "first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth "
    "sixteenth seventeenth eighteenth nineteenth"
).split()
_ORDINAL = {word: n for n, word in enumerate(_NTHS, 1)}
_ORDINAL |= {f"{word.removesuffix('y')}ieth": _CARDINAL[word] for word in _TENS}
_SCALE = {"hundred": 100, "thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_COUNTED = "|".join(sorted({**_CARDINAL, **_ORDINAL, **_SCALE}, key=len, reverse=True))
# After a number in digits, "million" is a scale and "second" a unit.
_NUMERAL = re.compile(rf"(?<![\w-])(?<!\d )(?:{_COUNTED})(?:(?: and |[ -])(?:{_COUNTED}))*(?![\w-])")
# II to LXXXIX, and the I and V of wars and kings; a letter or a size is left alone (Malcolm X, XL).
_ROMAN = re.compile(r"(?<=[^\W\d_] )(?!(?:x|l|xl)\b)(?=[ivxl])(?:xl|l?x{0,3})(?:i[xv]|v?i{0,3})(?![\w'-]|\.\w)")
_ROMAN_DIGITS = {"i": 1, "v": 5, "x": 10, "l": 50}
_PART = re.compile(
    r"\A(?:(?P<whole>[a-z]+|\d+) and )?(?P<top>an?|one|two|three|four|five|seven)[ -]"
    r"(?P<bottom>half|third|quarter|fourth|fifth|sixth|eighth|tenth)s?(?![\w-])|\Ahalf\Z"
)
_BOTTOM = {"half": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}
_REWRITTEN = [
    (re.compile(pattern), instead)
    for pattern, instead in (
        # St. Louis, St-Denis; after a number it is a unit or an ordinal.
        (r"(?<![\w.'])(?<!\d )st(?:\. ?|\.?-| )(?=[^\W\d])", "saint "),
        (r"(?<![\w.'])(?<!\d )ste(?:\. ?|\.?-| )(?=[^\W\d])", "sainte "),
        (r"(?<![\w.'])(?<!\d )mt(?:\. ?| )(?=[^\W\d])", "mount "),
        (r"(?<![\w.'])(?<!\d )ft(?:\. ?| )(?=[^\W\d])", "fort "),
        (r"(?<![\w.'])dr(?:\. ?| )(?=[^\W\d])", "doctor "),
        (r"(?<=\w[, ]) ?jr\b\.?", " junior"),
        (r"(?<=\w[, ]) ?sr\b\.?", " senior"),
        (r"(?<=[^\W\d_] )st\.?\Z", "street"),
        (r"(?<=[^\W\d_] )ave\.?\Z", "avenue"),
        (r"(?<!\w)(?:no\.? ?|#)(?=\d)", "number "),
        (r"(?<= )(?:vs\.?|v\.)(?= )", "versus"),
        # AD 1969, 1969 C.E., 44 B.C.E., the 1960's, .5
        (r"(?<![\w.])(?:ad|a\. ?d\.|ce|c\. ?e\.) ?(?=\d{1,4}(?![\d,.]))", ""),
        (r"(?<=\d) ?(?:ad|a\. ?d\.?|ce|c\. ?e\.?)(?!\w)", ""),
        (r"(?<=\d) ?(?:bce?|b\. ?c\.?(?: ?e\.?)?)(?!\w)", " bc"),
        (r"(?<=\d0)'s\b", "s"),
        (r"\A(-?)\.(?=\d)", r"\g<1>0."),
        # 1914 to 1918
        (r"\A(?:from )?(\d+) ?(?:to|until|till|through|-) ?(?=\d+\Z)", r"\1-"),
        (r"\Abetween (\d+) and (?=\d+\Z)", r"\1-"),
    )
]
_YEARS = re.compile(r"(?<![\d./-])([12]\d)(\d\d) ?[-/] ?(\d\d)(?![\d./-])")
_BOX = re.compile(
    r"\A(?:\$|\\[(\[])?\s*\\(?:boxed|fbox|text|textbf|mathrm|mathbf)\s*\{(.*)\}\s*\.?(?:\$|\\[)\]])?\Z", re.DOTALL
)
_FRAC = re.compile(r"\\[dt]?frac\{(\d{1,4})\}\{(\d{1,4})\}")
_MOST_BOXES = 4


def unbox(answer: str) -> str:
    r"""Return the answer without TeX around it: `$\boxed{\text{Paris}}$`, `\frac{1}{2}`."""
    for _ in range(_MOST_BOXES):
        if not (match := _BOX.match(answer.strip())):
            break
        answer = match[1]
    return _FRAC.sub(r"\1/\2", answer)


def unify_forms(text: str) -> str:
    """Return the text, which must be folded, with one spelling for everything that has several."""
    text = " ".join(text.split())
    for pattern, instead in _REWRITTEN:
        text = pattern.sub(instead, text)
    text = _NUMERAL.sub(lambda match: _write_in_digits(match[0]), _PART.sub(_write_fraction, text))
    return _YEARS.sub(_write_both_years, _ROMAN.sub(_write_arabic, text))


def _write_in_digits(words: str) -> str:
    """Write number words in digits (two hundred and five: 205, twenty-first: 21st); leave anything else unchanged."""
    *before, last = parts = [word for word in re.split("[ -]", words) if word != "and"]
    total = group = 0
    room, above = 100, 10**15
    for word in parts:
        value = _CARDINAL.get(word, _ORDINAL.get(word, 0))
        if word == "hundred" and group < 100:
            group, room = 100 * (group or 1), 100
        elif _SCALE.get(word, above) < above:
            total, group, room, above = total + (group or 1) * _SCALE[word], 0, 100, _SCALE[word]
        elif word in _SCALE or value >= room or (word in _ORDINAL and word is not last):
            # "One second" is a time.
            is_time = last == "second" and before and before[-1] != last
            return f"{_write_in_digits(' '.join(before))} second" if is_time else words
        else:
            # After tens only units may follow; after units, hundreds or thousands.
            group, room = group + value, 10 if value >= 20 else 0
    number = total + group
    if last not in _ORDINAL:
        return str(number)
    return f"{number}{'th' if 10 < number % 100 < 14 else {1: 'st', 2: 'nd', 3: 'rd'}.get(number % 10, 'th')}"


def _write_arabic(match: re.Match[str]) -> str:
    digits = [_ROMAN_DIGITS[letter] for letter in match[0]]
    return str(sum(-n if n < max(digits[at:]) else n for at, n in enumerate(digits)))


def _write_fraction(match: re.Match[str]) -> str:
    if not match["bottom"]:
        return "1/2"
    number, top = match["whole"], match["top"]
    if number and not number.isdigit() and number not in _CARDINAL:
        return match[0]
    part = Fraction(1 if top in ("a", "an") else _CARDINAL[top], _BOTTOM[match["bottom"]])
    prefix = f"{_CARDINAL.get(number, number)} " if number else ""
    return f"{prefix}{part.numerator}/{part.denominator}"


def _write_both_years(match: re.Match[str]) -> str:
    century, first, last = match.groups()  # 1999-00 is 1999-2000; 1969-04 is a month and stays
    if last > first:
        return f"{century}{first}-{century}{last}"
    return f"{century}99-{int(century) + 1}00" if (first, last) == ("99", "00") else match[0]
