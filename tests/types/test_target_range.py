"""A band of solve rates over K rollouts: which counts are in it, and when rollouts have decided."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.types import Label, TargetRange


@pytest.mark.parametrize(
    ("band", "counts"),
    [
        (TargetRange(0.2, 0.8, 4), [1, 2, 3]),
        (TargetRange(0.2, 0.8, 2), [1]),
        (TargetRange(0.2, 0.8, 5), [1, 2, 3, 4]),
        (TargetRange(0.6, 0.7, 10), [6, 7]),
        (TargetRange(0, 1, 3), [0, 1, 2, 3]),
        (TargetRange(0.3, 0.4, 4), []),
    ],
)
def test_counts_are_those_whose_share_is_in_the_band(band: TargetRange, counts: list[int]) -> None:
    assert list(band.counts) == counts


@st.composite
def bands(draw: st.DrawFn) -> TargetRange:
    tries = draw(st.integers(1, 9))
    low, high = sorted((draw(st.integers(0, tries)), draw(st.integers(0, tries))))
    return TargetRange(low / tries, high / tries, tries)


@given(bands(), st.lists(st.booleans(), min_size=9, max_size=9))
def test_further_rollouts_do_not_change_a_decision(band: TargetRange, ends: list[bool]) -> None:
    ends = ends[: band.tries]
    final = band.label(sum(ends), band.tries)
    in_band = sum(ends) in band.counts
    assert final is (Label.CANDIDATE if in_band else Label.TOO_EASY if sum(ends) > band.counts[-1] else Label.UNSOLVED)
    for count in range(band.tries):
        right = sum(ends[:count])
        if (label := band.label(right, count)) is not None:
            assert label is final


@given(bands(), st.lists(st.booleans(), min_size=9, max_size=9), st.booleans())
def test_no_unnecessary_rollout_is_due(band: TargetRange, ends: list[bool], full: bool) -> None:
    """Decide nothing before the last due rollout, however they end, and decide after all of them."""
    ends, count = ends[: band.tries], 0
    while due := band.due(sum(ends[:count]), count, whole=full):
        for early in range(count, count + due):
            for right in range(sum(ends[:count]), sum(ends[:count]) + early - count + 1):
                label = band.label(right, early)
                assert label is None or (full and label is Label.CANDIDATE)
        count += due
    assert band.label(sum(ends[:count]), count) is not None
    if full and sum(ends) in band.counts:
        assert count == band.tries


def test_a_band_is_written_in_percent() -> None:
    assert str(TargetRange(0.2, 0.8, 4)) == "20 to 80 %"
