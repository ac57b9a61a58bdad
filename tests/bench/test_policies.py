"""The bench of the solve rate as a target counts what it says."""

import math

import pytest

from bench import policies
from bench.policies import Ended
from pipeline.types import Band, Status
from tests import records

GOOD = records.accepted()
BAD = GOOD.model_copy(update={"status": Status.REJECTED})
BAND = Band(0.2, 0.8, 4)


def ended(right: int, calls: int = 30) -> Ended:
    return Ended(GOOD, calls, (True,) * right + (False,) * (8 - right), (True,) * 8)


def test_a_pair_is_in_the_band_by_as_many_tries_as_the_loop_takes() -> None:
    # Of the first four tries none, one, four.
    pairs = [ended(0), ended(1), ended(4)]
    assert policies.held(pairs, BAND) == pytest.approx(1 / 3)
    assert policies.mean_rate(pairs, "weak") == pytest.approx(5 / 24)


def test_calls_of_rejected_seeds_are_part_of_the_price_of_a_pair() -> None:
    both = [ended(2), Ended(BAD, 20)]
    assert policies.calls_per_pair(both) == 50
    assert math.isnan(policies.calls_per_pair(both[1:]))
    assert policies.ratio(both, [ended(2), Ended(BAD, 10)]).value == pytest.approx(50 / 40)
