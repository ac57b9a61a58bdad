"""The contract of a gate: a pure function of one record. `Gates` remembers which records have passed.

A gate either drops a record or gives it *marks*, with the number of pairs that may have the same mark. Shares are of
the pairs that have passed so far, this one included, so that every prefix of a data set keeps them and a larger run
only adds pairs.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from pipeline.config.exports import GateConfig
from pipeline.reward.answers import NO, YES
from pipeline.text import normalise
from pipeline.types import Draft, Record

YES_NO = frozenset(map(normalise, (*YES, *NO)))
"""Answers that say nothing about a question by themselves."""
ALWAYS = 2
"""This many pairs may have one answer, or use one document, whatever their share is: small runs keep their pairs."""


class GateResult(NamedTuple):
    """A property of a record that only a limited number of pairs may share."""

    marks: tuple[str, ...]
    full: str
    """The reason for dropping the record once one of its marks has reached its limit."""
    most: int = 1
    """This many pairs may share a mark, even if that exceeds `share` ..."""
    share: float = 0.0
    """... and so may this share of all pairs."""


Check = Callable[[Draft, Record, GateConfig], str | list[GateResult]]
"""A pure function of a record and its last draft. It returns in a few words why the record may not pass, or the
properties that only some pairs may share; an empty text or list lets the record pass."""


@dataclass(frozen=True)
class Gate:
    """What a module of this package defines. The first line of its docstring says what the gate drops."""

    check: Check
    prepare: Callable[[GateConfig], object] = lambda settings: None
    """Raise UsageError if the gate cannot work with the settings."""


def limit(marks: Iterable[str], full: str, most: int, share: float = 0.0) -> list[GateResult]:
    """Return the result of a gate that limits how many pairs share each of the marks."""
    unique_marks = tuple(dict.fromkeys(marks))
    return [GateResult(marks=unique_marks, full=full, most=most, share=share)] if unique_marks else []
