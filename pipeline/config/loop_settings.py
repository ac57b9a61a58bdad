"""The settings of the loop, and of the checks in it that only a model can make."""

from functools import cache
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from pipeline import registry
from pipeline.errors import unknown
from pipeline.types import Data

MOST_TRIES = 64


class LoopConfig(Data):
    """SAGE's loop (arXiv 2601.18202, Alg. 1 and 2), and the stages that Digsite adds to it."""

    rollouts: int = Field(4, ge=1, le=MOST_TRIES)
    """K: number of new rollouts that confirm a candidate. If `confirm` is false, number of rollouts that decide about a
    draft."""
    screen: int = Field(2, ge=1, le=64)
    """Largest number of rollouts before the confirmation, which starts after the first correct one. Unused if `confirm`
    is false, as in SAGE."""
    rounds: int = Field(4, ge=0, le=8)
    """R: largest number of revisions of a draft, most of which need no rollout. SAGE uses 2, because with 3 its data
    became harder and training worse (Table 5), due to drafts that few rollouts solve. Here the confirmation filters
    those."""
    audit: bool = True
    """Review the graph and the wording of a draft before its first rollout."""
    early_stop: bool = True
    """Stop the rollouts of a draft when further ones cannot change the verdict."""
    confirm: bool = True
    """Confirm a candidate by K fresh rollouts; difficulty and solve rate are exported from those."""
    refiner_searches: bool = True
    """Let the refiner search the corpus. In SAGE it only sees the traces."""
    feedback_rollouts: Literal["all", "one"] = "all"
    """Rollouts that the refiner sees: `all`, or `one` as in SAGE, which is the correct one with the fewest searches, or
    any with an answer."""
    last_round_relaxed: bool = False
    """Accept a draft of the last round if any rollout solved it, even below the target, as SAGE's post-filter does."""


_REMOVED = frozenset("clues complete_list end leave_one_out naturalness same_name seeker".split())
"""Checks of earlier versions."""


def reader_checks() -> tuple[str, ...]:
    """Return the names of the checks by readers, in the order in which they run."""
    return _sort_checks(tuple(registry.names("checks")))


@cache
def _sort_checks(names: tuple[str, ...]) -> tuple[str, ...]:
    places = {name: registry.load("checks", name).CHECK.place for name in names}
    return tuple(sorted(names, key=places.__getitem__))


def validate_check(name: str) -> str:
    if name in _REMOVED:
        raise ValueError(
            f"'{name}' was removed: every draft's graph and wording are reviewed; known: {', '.join(reader_checks())}"
        )
    if name not in reader_checks():
        raise ValueError(str(unknown("check by a reader", name, reader_checks())))
    return name


class ChecksConfig(Data):
    """`[checks]`: the checks of a draft that only a model can make."""

    run: tuple[Annotated[str, AfterValidator(validate_check)], ...] | None = None
    """The checks by readers, which run on drafts whose graph and wording have passed review. If left out, all of them
    with a real model as reader, but only `oracle` with the demo model, which knows nothing from memory."""
    tries: int = Field(3, ge=1, le=32)
    """Number of attempts to answer from memory. Most of them must fail."""
    oracle_tries: int = Field(2, ge=1, le=32)
    """Largest number of attempts to answer with all the evidence in the prompt. One must succeed."""
    naturalness: int = Field(3, ge=1, le=5)
    """Lowest grade of a question's wording by the reader, from 1 to 5. 1 accepts every wording."""
