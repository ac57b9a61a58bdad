"""A band of solve rates over K tries: which counts lie in it, and when tries have decided it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.types import Band, Label


@pytest.mark.parametrize(
    ("band", "counts"),
    [
        (Band(0.2, 0.8, 4), [1, 2, 3]),
        (Band(0.2, 0.8, 2), [1]),
        (Band(0.2, 0.8, 5), [1, 2, 3, 4]),
        (Band(0.6, 0.7, 10), [6, 7]),
        (Band(0, 1, 3), [0, 1, 2, 3]),
        (Band(0.3, 0.4, 4), []),
    ],
)
def test_the_counts_are_those_whose_share_lies_in_the_band(band: Band, counts: list[int]) -> None:
    assert list(band.counts) == counts


@st.composite
def bands(draw: st.DrawFn) -> Band:
    tries = draw(st.integers(1, 9))
    low, high = sorted((draw(st.integers(0, tries)), draw(st.integers(0, tries))))
    return Band(low / tries, high / tries, tries)


@given(bands(), st.lists(st.booleans(), min_size=9, max_size=9))
def test_what_tries_have_decided_no_further_one_changes(band: Band, ends: list[bool]) -> None:
    ends = ends[: band.tries]
    final = band.label(sum(ends), band.tries)
    in_band = sum(ends) in band.counts
    assert final is (Label.CANDIDATE if in_band else Label.TOO_EASY if sum(ends) > band.counts[-1] else Label.UNSOLVED)
    for tried in range(band.tries):
        right = sum(ends[:tried])
        if (found := band.label(right, tried)) is not None:
            assert found is final


@given(bands(), st.lists(st.booleans(), min_size=9, max_size=9), st.booleans())
def test_no_try_is_due_that_could_have_been_left_out(band: Band, ends: list[bool], whole: bool) -> None:
    """Before the last of the tries that are due nothing is decided, however they end; after all of them it is."""
    ends, tried = ends[: band.tries], 0
    while more := band.due(sum(ends[:tried]), tried, whole=whole):
        for early in range(tried, tried + more):
            for right in range(sum(ends[:tried]), sum(ends[:tried]) + early - tried + 1):
                label = band.label(right, early)
                assert label is None or (whole and label is Label.CANDIDATE)
        tried += more
    assert band.label(sum(ends[:tried]), tried) is not None
    if whole and sum(ends) in band.counts:
        assert tried == band.tries


def test_it_is_spelled_in_percent() -> None:
    assert str(Band(0.2, 0.8, 4)) == "20 to 80 %"
