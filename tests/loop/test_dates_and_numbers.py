"""When two dates or numbers dates_agree, and which digits of a text are no number."""

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
    ("left_text", "right_text", "agreed", "covers"),
    [
        ("6 May 2008", "May 6, 2008", True, True),
        ("May 2008", "٦ May ٢٠٠٨", True, True),
        ("6 May 2008", "2008", True, False),
        ("June 2008", "May 6, 2008", False, False),
        ("2008", "2009", False, False),
    ],
)
def test_dates_agree_as_far_as_both_are_precise(left_text: str, right_text: str, agreed: bool, covers: bool) -> None:
    (left,), (right,) = find_dates(left_text), find_dates(right_text)
    assert (dates_agree(left, right), dates_agree(right, left), is_same_or_less_exact(left, right)) == (
        agreed,
        agreed,
        covers,
    )


@pytest.mark.parametrize(
    ("left", "right", "same"),
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
def test_amounts_are_the_same_in_any_unit_and_rounded(left: str, right: str, same: bool) -> None:
    (first,), (second,) = find_amounts(left), find_amounts(right)
    assert is_same_amount(first, second) is is_same_amount(second, first) is same


def test_the_day_of_a_date_is_no_number() -> None:
    text = "born on 12 May 1890, wed on June 7, dead on 6. Mai 1931 with 12 cats"
    assert [number.value for number in find_numbers(text)] == [1890, 1931, 12]
    assert [number.value for number in find_numbers("于1641年5月12日建")] == [1641]


def test_a_number_too_large_for_a_float_is_ignored() -> None:
    assert find_amounts("9" * 400) == []
