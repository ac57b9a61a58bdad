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
    """One thing that a gate finds in a record."""

    drop: str = ""
    """Why it may not pass, in a few words; empty where it may."""
    marks: tuple[str, ...] = ()
    most: int = 1
    """So many pairs may have one of the marks even if that exceeds their share ..."""
    share: float = 0.0
    """... and so large a share of all."""
    full: str = ""
    """Why it may not pass where as many pairs as may have one of the marks."""


Check = Callable[[Draft, Record, GateConfig], list[GateResult]]
"""The function `check` of a module of this package, whose docstring's first line says what the gate drops, for card and
report. It is pure: nothing found means that the record may pass; `draft` is the record's last."""
