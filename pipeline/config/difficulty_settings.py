"""How the difficulty of a candidate is measured."""

from typing import Literal, get_args

from pydantic import Field, field_validator

from pipeline.types import Data

Way = Literal["end", "clues", "guess", "free"]
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
    seekers: tuple[Way, ...] = Field(WAYS, min_length=1)
    """The ways in which seekers look for a shortcut, one try each: `end` begins at the pages that could state the
    answer, `clues` searches with several clues at once, `guess` guesses hidden things and checks the guesses, `free`
    chooses."""

    @field_validator("seekers")
    @classmethod
    def _order(cls, ways: tuple[Way, ...]) -> tuple[Way, ...]:
        return tuple(way for way in WAYS if way in ways)
