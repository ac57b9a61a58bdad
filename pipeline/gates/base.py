"""What every gate is: a pure function of one record. What was let through before is remembered for it, not by it.

A gate either drops a record outright or gives it *marks*, and says how many pairs may have one. Shares are of the pairs
let through so far, this one included, so that every prefix of a data set keeps them and a larger run only adds.
"""

from collections.abc import Callable
from typing import NamedTuple

from pipeline.config.gates import GateConfig
from pipeline.reward.answers import NO, YES
from pipeline.text import normalise
from pipeline.types import Draft, Record

YES_NO = frozenset(map(normalise, (*YES, *NO)))
"""Answers that say nothing about a question by themselves."""


class GateResult(NamedTuple):
    """One thing of a record that only so many pairs may share."""

    marks: tuple[str, ...]
    full: str
    """Why it may not pass where as many pairs as may have one of the marks."""
    most: int = 1
    """So many pairs may have one of the marks even if that exceeds their share ..."""
    share: float = 0.0
    """... and so large a share of all."""


Check = Callable[[Draft, Record, GateConfig], str | list[GateResult]]
"""The function `check` of a module of this package, whose docstring's first line says what the gate drops, for card and
report. It is pure; `draft` is the record's last. A text says in a few words why the record may not pass; where it is
empty or nothing is found, it may."""
