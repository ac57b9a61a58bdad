"""When a text holds a name, and when two names are the same, with the marks that make another name of a word.

`text` drops all marks, so that C, C# and C++ are one to it; the reward that is shipped keeps these (`equality`).
"""

import re

from pipeline import text

_MARKS = re.compile(r"(?<=\w)[+#]+(?!\w)")
_WORDS = str.maketrans({"+": "plus", "#": "sharp"})


def normalise(name: str) -> str:
    """As `text.normalise`, but C++ is not C."""
    return text.normalise(_written_out(name))


def contains(passage: str, name: str) -> bool:
    """As `text.contains`, but what names C++ or C: names no C#."""
    return text.contains(_written_out(passage), _written_out(name))


def _written_out(marked: str) -> str:
    return _MARKS.sub(lambda found: found[0].translate(_WORDS), marked) if "+" in marked or "#" in marked else marked
