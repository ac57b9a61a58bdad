"""How a draft is tried: the loop, and the checks in it that only a model can make."""

from functools import cache
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from pipeline import registry
from pipeline.errors import unknown
from pipeline.types import Data

MOST_TRIES = 64


class LoopConfig(Data):
    """SAGE's loop (arXiv 2601.18202, Alg. 1 and 2) and the stages that this product adds to it."""

    rollouts: int = Field(4, ge=1, le=MOST_TRIES)
    """K: fresh rollouts that confirm a candidate. If `confirm` is false, the K rollouts that decide about a draft."""
    screen: int = Field(2, ge=1, le=64)
    """Most rollouts before the confirmation; the first correct one sends the draft on to it. Unused if `confirm` is
    false, where all K rollouts decide, as in SAGE."""
    rounds: int = Field(4, ge=0, le=8)
    """R: most revisions after the first draft; most of them end without a rollout. SAGE uses 2: with 3, its data
    became harder and training worse (Table 5), through drafts that few rollouts solve. Here the confirmation filters
    those."""
    audit: bool = True
    """Review graph and wording of a draft before any rollout is paid for."""
    early_stop: bool = True
    """Stop the rollouts of a draft once more of them cannot change the verdict."""
    confirm: bool = True
    """Confirm a candidate by K fresh rollouts; difficulty and solve rate are exported from those."""
    refiner_searches: bool = True
    """Let the refiner search the corpus; in SAGE it only sees the traces."""
    feedback_rollouts: Literal["all", "one"] = "all"
    """Rollouts that the refiner is shown: `all`, or `one`, as in SAGE: the correct one with the fewest searches,
    else any with an answer."""
    last_round_relaxed: bool = False
    """Accept a draft of the last round if it was solved at all, even below the target, as SAGE's post-filter does."""


_GONE = frozenset("clues complete_list end leave_one_out naturalness same_name seeker".split())
"""Checks of earlier versions."""


def asked_checks() -> tuple[str, ...]:
    """Return the checks that a model makes, in the order in which they are made."""
    return _asked(tuple(registry.names("checks")))


@cache
def _asked(names: tuple[str, ...]) -> tuple[str, ...]:
    places = {name: registry.load("checks", name).CHECK.place for name in names}
    return tuple(sorted(names, key=places.__getitem__))


def asked_check(name: str) -> str:
    if name in _GONE:
        raise ValueError(
            f"'{name}' is gone: every draft's graph and wording are reviewed; known: {', '.join(asked_checks())}"
        )
    if name not in asked_checks():
        raise ValueError(str(unknown("check by a reader", name, asked_checks())))
    return name


class ChecksConfig(Data):
    """Checks of a draft that only a model can make."""

    run: tuple[Annotated[str, AfterValidator(asked_check)], ...] | None = None
    """The checks that readers make of drafts whose graph and wording have passed review. Left out: all of them with a
    real model as reader; `oracle` only with the demo model, which knows nothing from memory."""
    tries: int = Field(3, ge=1, le=32)
    """Tries to answer from memory; most of them must fail."""
    oracle_tries: int = Field(2, ge=1, le=32)
    """Tries to answer with all evidence given; one must succeed. The second is made only if the first failed."""
    naturalness: int = Field(3, ge=1, le=5)
    """Least grade of the wording, from 1 to 5, by the reader; 1 accepts every wording."""
