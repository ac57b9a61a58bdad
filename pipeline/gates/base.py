"""What every gate is: a pure function of one record. What was let through before is remembered for it, not by it.

A gate either drops a record outright or says what it bears: *marks*, and how many pairs may bear one. Shares are of the
pairs let through so far, this one included, so that every prefix of a data set keeps them and a larger run only adds.
"""

from pathlib import Path
from typing import Annotated, Any, NamedTuple, Protocol

from pydantic import Field, field_validator

from pipeline.types import Data, Draft, Record

Ratio = Annotated[float, Field(ge=0, le=1)]


class Settings(Data):
    """`[gates]`: what an accepted pair must pass to count. Nothing of it changes the journal or is digested."""

    off: tuple[str, ...] = ()
    """Gates, by name, that let everything through."""
    answers: Ratio = 0.01
    """Share of the pairs that may have one answer; a first one always may."""
    openings: Ratio = 0.10
    """Share that may begin with the same four words."""
    relations: Ratio = 0.20
    """Share that may rest on one relation."""
    clozes: Ratio = 0.20
    """Share that may mask a span of a text instead of asking."""
    least: int = Field(10, ge=1)
    """So many pairs may have an opening, a relation, a family or a quota in common whatever their share is: a small run
    must not starve."""
    pairs_per_passage: int = Field(5, ge=1)
    solve_rate: tuple[Ratio, Ratio] = (0.0, 1.0)
    """Least and greatest, both included."""
    quotas: dict[str, dict[str, Ratio]] = Field(default_factory=dict)
    """By trait (target, difficulty, answer_type, hops, strategy, domain) and value, the greatest share; `*` stands for
    any other value."""
    against: tuple[Path, ...] = ()
    """Files of benchmark questions that no pair may be like, beside the shipped ones."""

    @field_validator("solve_rate")
    @classmethod
    def _ordered(cls, window: tuple[float, float]) -> tuple[float, float]:
        if window[0] > window[1]:
            raise ValueError(f"no pair lies within [{window[0]}, {window[1]}]: the least comes first")
        return window

    def shown(self) -> dict[str, Any]:
        """For a card: lists by name, since where they lie is nobody's business."""
        return {**self.model_dump(mode="json"), "against": [path.name for path in self.against]}


class Weight(NamedTuple):
    """One thing that a gate says of a record."""

    drop: str = ""
    """Why it may not pass, in a few words; empty where it may."""
    marks: tuple[str, ...] = ()
    most: int = 1
    """So many pairs may bear one of the marks, whatever their share is ..."""
    share: float = 0.0
    """... and so large a share of all."""
    full: str = ""
    """Why it may not pass where one of the marks is borne by as many as may."""


class Gate(Protocol):
    """A module of this package. The first line of its docstring says what it drops, for card and report.

    It may also have `ready(settings)`, which raises UsageError where it cannot work with them.
    """

    def weigh(self, draft: Draft, record: Record, settings: Settings) -> list[Weight]:
        """Nothing, where the gate does not mind. `draft` is the record's last. Pure: neither order nor time matters."""
        ...
