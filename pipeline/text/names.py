"""Comparison of names, with the marks that distinguish C, C# and C++.

`text` drops all marks, so that these three are equal to it; the reward of a data set distinguishes them (`equality`).
"""

import re

from pipeline import text

_MARKS = re.compile(r"(?<=\w)[+#]+(?!\w)")
_WORDS = str.maketrans({"+": "plus", "#": "sharp"})


def normalise(name: str) -> str:
    return text.normalise(_spell_out_marks(name))


def contains(passage: str, name: str) -> bool:
    return text.contains(_spell_out_marks(passage), _spell_out_marks(name))


def _spell_out_marks(name: str) -> str:
    return _MARKS.sub(lambda match: match[0].translate(_WORDS), name) if "+" in name or "#" in name else name
