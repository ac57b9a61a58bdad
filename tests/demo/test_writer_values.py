"""Wrong answers look like right ones and are none."""

import pytest

from pipeline.demo.writer_values import remaining_count, wrong
from pipeline.distractors.checks import differs


@pytest.mark.parametrize("answer", ["1641", "12 May 1641", "October 31, 1993", "10,571", "3.5 million", "7", "five"])
def test_every_one_differs_and_is_written_alike(answer: str) -> None:
    wrong_answers = wrong(answer, [], "", "seed")
    assert len(wrong_answers) >= 6
    assert len(set(wrong_answers)) == len(wrong_answers)
    for value in wrong_answers:
        assert differs(value, answer), value
        assert ("," in value) == ("," in answer)


def test_none_stands_in_the_source() -> None:
    assert "1638" in wrong("1641", [], "", "seed")
    assert "1638" not in wrong("1641", [], "The mill dates from 1638.", "seed")
    assert wrong("Ada Holm", ["Bo Lind", "Ada Holm", "Jo Carr"], "Jo Carr stars in it.", "seed") == ["Bo Lind"]


def test_no_year_is_later_than_what_is_told() -> None:
    assert {"2013", "2011"} <= set(wrong("2015", [], "It opened in 2015.", "seed"))
    assert max(wrong("2015", [], "It opened in 2015.", "seed")) < "2015"
    assert "2018" in wrong("2015", [], "It opened in 2015 and closed in 2019.", "seed")


def test_a_count_has_a_rest_and_a_date_has_none() -> None:
    assert remaining_count("10,571 people", "6,554 people") == "4,017 people"
    assert remaining_count("10,571", "12,000") == ""
    assert remaining_count("1641", "1598") == ""
    assert remaining_count("Ada Holm", "Bo Lind") == ""
