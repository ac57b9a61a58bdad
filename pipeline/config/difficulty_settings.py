"""The settings of how a candidate's difficulty is measured."""

from typing import Annotated, Literal, get_args

from pydantic import Field, field_validator

from pipeline.types import Data

MOST_STEPS = 20
Way = Literal["end", "clues", "guess", "free"]
Aim = Annotated[int, Field(ge=1, le=MOST_STEPS)]
WAYS: tuple[Way, ...] = get_args(Way)


def way_of(sample: int) -> Way:
    return WAYS[sample % len(WAYS)]


class DifficultyConfig(Data):
    """Seekers look for shortcuts to the answer of every question that the solver has confirmed."""

    adversarial: bool = True
    """Count the steps of the shortest way that the solver or a seeker finds, and accept every pair with at least the
    lower end of `steps`. If false, only the solver's steps count, and a pair must reach the target of its own seed, as
    in SAGE."""
    seekers: tuple[Way, ...] = Field(("clues", "guess"), min_length=1)
    """The ways in which seekers look for a shortcut, one try each: `end` begins at the pages that could state the
    answer, `clues` searches with several clues at once, `guess` guesses hidden things and checks the guesses, `free`
    chooses. The two of the default found the same number as all four for 33 of 38 pairs, at half the price."""

    again: float = Field(0.1, ge=0, le=1)
    """Share of the accepted pairs that new seekers try again. Card and report say how many of them keep their number of
    steps."""
    aims: dict[Aim, Annotated[int, Field(ge=1, le=1000)]] = Field(default_factory=dict)
    """Number of steps that generators aim at, with weights, such as `{3 = 1, 4 = 2}`. Questions often take fewer steps
    than their generator aims at. If left out, all numbers in the range `steps` plus one are equally frequent; without
    `adversarial`, or with the demo model, those in `steps` itself. `digsite stats` shows which aims suit a corpus."""

    @field_validator("seekers")
    @classmethod
    def _sort(cls, ways: tuple[Way, ...]) -> tuple[Way, ...]:
        return tuple(way for way in WAYS if way in ways)
