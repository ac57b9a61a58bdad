"""When a date or a number is the one that is asked for, and what of a text is no number at all."""

import pytest

from pipeline.loop.dates_and_numbers import (
    dates_agree,
    find_amounts,
    find_dates,
    find_numbers,
    is_same_amount,
    is_same_or_less_exact,
)


@pytest.mark.parametrize(
    ("said", "known", "agreed", "told"),
    [
        ("6 May 2008", "May 6, 2008", True, True),
        ("May 2008", "٦ May ٢٠٠٨", True, True),
        ("6 May 2008", "2008", True, False),
        ("June 2008", "May 6, 2008", False, False),
        ("2008", "2009", False, False),
    ],
)
def test_dates_are_compared_as_far_as_both_are_given(said: str, known: str, agreed: bool, told: bool) -> None:
    (one,), (other,) = find_dates(said), find_dates(known)
    assert (dates_agree(one, other), dates_agree(other, one), is_same_or_less_exact(one, other)) == (
        agreed,
        agreed,
        told,
    )


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("12 km", "12 kilometres", True), ("12 km", "12,000 m", True), ("12公里", "12 km", True), ("12", "12 km", True),
        ("3 km²", "3 square kilometres", True), ("$2.5 million", "2,500,000 dollars", True), ("5%", "5 percent", True),
        ("3.96 km", "4 km", True), ("12,345", "12,300", True), ("12,345", "some 12,000", True),
        ("8,848", "8,850", True),
        ("12 km", "12 miles", False), ("12 km", "12 years", False), ("48", "50", False), ("48", "about 50", True),
        ("12,345", "13,000", False), ("12,345", "12,346", False), ("11", "about 20", False),
        ("104", "100", False), ("1,050", "1000", False), ("1,998", "2000", False), ("57.9 m", "58 m", True),
    ],
)  # fmt: skip
def test_amounts_are_the_same_in_whatever_unit_and_rounded(one: str, other: str, same: bool) -> None:
    (first,), (second,) = find_amounts(one), find_amounts(other)
    assert is_same_amount(first, second) is is_same_amount(second, first) is same


def test_the_day_of_a_date_counts_nothing() -> None:
    text = "born on 12 May 1890, wed on June 7, dead on 6. Mai 1931 with 12 cats"
    assert [one.value for one in find_numbers(text)] == [1890, 1931, 12]
    assert [one.value for one in find_numbers("于1641年5月12日建")] == [1641]


def test_a_number_that_no_float_holds_is_none() -> None:
    assert find_amounts("9" * 400) == []
