"""How the difficulty of a candidate is measured."""

from typing import Annotated, Literal, get_args

from pydantic import Field, field_validator

from pipeline.types import Data

MOST_STEPS = 20
Way = Literal["end", "clues", "guess", "free"]
Aim = Annotated[int, Field(ge=1, le=MOST_STEPS)]
WAYS: tuple[Way, ...] = get_args(Way)


def way_of(sample: int) -> Way:
    """Return the way of the seeker whose rollout has that sample."""
    return WAYS[sample % len(WAYS)]


class DifficultyConfig(Data):
    """Seekers look for shortcuts through every question that the solver has confirmed."""

    adversarial: bool = True
    """Count the steps of the shortest way that the solver or a seeker finds, and accept every pair whose number reaches
    the lower end of `steps`. If false, only the solver's steps count, and a pair must take its seed's own target, as in
    SAGE."""
    seekers: tuple[Way, ...] = Field(("clues", "guess"), min_length=1)
    """The ways in which seekers look for a shortcut, one try each: `end` begins at the pages that could state the
    answer, `clues` searches with several clues at once, `guess` guesses hidden things and checks the guesses, `free`
    chooses. The two of the default found the same number as all four for 33 of 38 pairs, at half the price."""

    again: float = Field(0.1, ge=0, le=1)
    """Share of the accepted pairs that fresh seekers try once more. Card and report say how many of them keep their
    number of steps."""
    aims: dict[Aim, Annotated[int, Field(ge=1, le=1000)]] = Field(default_factory=dict)
    """How often a seed is given each target, such as `{3 = 1, 4 = 2}`. Questions often take fewer steps than their
    author aims at. So left out, all steps of the range `steps`, moved up by one, are equally frequent; without
    `adversarial` and with the demo model, those of the range itself. `digsite stats` shows which aims suit a corpus."""

    @field_validator("seekers")
    @classmethod
    def _order(cls, ways: tuple[Way, ...]) -> tuple[Way, ...]:
        return tuple(way for way in WAYS if way in ways)
