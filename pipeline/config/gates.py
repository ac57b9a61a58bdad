"""What an accepted pair must pass to count."""

from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator

from pipeline.types import Data

Ratio = Annotated[float, Field(ge=0, le=1)]


class GateConfig(Data):
    """`[gates]`: what an accepted pair must pass to count. Nothing of it changes the journal or is digested."""

    policy: str = Field("", exclude_if=lambda name: not name)
    """Whose measurements gates, `rl_*`, card and report read: a policy by its name; empty: the run's own solver.
    `--for` sets it."""
    off: tuple[str, ...] = ()
    """Gates, by name, that let everything through."""
    answers: Ratio = 0.01
    """Share of the pairs that may have one answer; a first one always may."""
    openings: Ratio = 0.10
    """Share that may begin with the same four words."""
    relations: Ratio = 0.20
    """Share that may rest on one relation."""
    least: int = Field(10, ge=1)
    """So many pairs may have an opening, a relation or a quota in common whatever their share is: a small run
    must not starve."""
    pairs_per_passage: int = Field(5, ge=1)
    """Pairs whose evidence may rest on one passage."""
    solve_rate: tuple[Ratio, Ratio] = (0.0, 1.0)
    """Least and greatest, both included, for `policy` or the run's own solver."""
    known_to: Ratio = 0.5
    """Share of the tries in which `policy` may know the answer from memory. What other models know drops nothing."""
    naturalness: int = Field(0, ge=0, le=5)
    """Least grade of the wording; a question that nobody graded passes."""
    quotas: dict[str, dict[str, Ratio]] = Field(default_factory=dict)
    """By trait (target, difficulty, answer_type, hops, strategy, domain) and value, the greatest share; `*` stands for
    any other value."""
    against: tuple[Path, ...] = ()
    """Files of benchmark questions that no pair may be like, beside the shipped ones."""

    @field_validator("solve_rate")
    @classmethod
    def _ordered(cls, window: tuple[float, float]) -> tuple[float, float]:
        if window[0] > window[1]:
            raise ValueError(f"the range [{window[0]}, {window[1]}] is empty: give the smaller number first")
        return window

    def shown(self) -> dict[str, Any]:
        """For a card: lists by name, since where they lie is nobody's business."""
        return {**self.model_dump(mode="json"), "against": [path.name for path in self.against]}
