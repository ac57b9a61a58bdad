"""Every listed spelling is the same day or value; the forms are written down here independently of the code."""

import pytest

from pipeline.exports.trajectories.spellings import spellings
from pipeline.types import AnswerType
from tests.graph_drafts import changed
from tests.records import draft, world

BASE = draft(world(1))


def list_spellings(answer, kind, precision="", aliases=()):
    changes = {"answer": answer, "answer_type": kind, "answer_precision": precision, "answer_aliases": aliases}
    return spellings(changed(BASE, **changes))


DAY = """12 March 1875|March 12, 1875|12 Mar 1875|Mar 12, 1875|12th March 1875|March 12th, 1875|12th of March 1875
|1875-03-12""".replace("\n", "").split("|")


@pytest.mark.parametrize("answer", ["12 March 1875", "March 12, 1875", "1875-03-12"])
@pytest.mark.parametrize("precision", ["", "day"])
def test_a_day_in_all_its_forms(answer, precision):
    assert set(list_spellings(answer, AnswerType.DATE, precision)) == set(DAY)


def test_a_date_is_as_exact_as_its_precision():
    assert "March 1875" in list_spellings("12 March 1875", AnswerType.DATE, "month")
    assert "1875" not in list_spellings("12 March 1875", AnswerType.DATE, "month")
    assert {"1875", "March 1875", *DAY} <= set(list_spellings("12 March 1875", AnswerType.DATE, "year"))
    assert list_spellings("1875", AnswerType.DATE, "year") == ["1875"]


@pytest.mark.parametrize(
    ("day", "nth"), [(1, "1st"), (2, "2nd"), (3, "3rd"), (4, "4th"), (11, "11th"), (13, "13th"), (22, "22nd")]
)
def test_ordinals(day, nth):
    assert f"{nth} May 1900" in list_spellings(f"{day} May 1900", AnswerType.DATE, "day")


@pytest.mark.parametrize(
    ("answer", "forms"),
    [
        ("1,234", {"1234", "1,234", "1 234"}),
        ("1234567", {"1234567", "1,234,567", "1 234 567"}),
        ("3", {"3", "three"}),
        ("twelve", {"12", "twelve"}),
        ("17.3", {"17.3"}),
        ("3.5 million", {"3500000", "3,500,000", "3 500 000", "3.5 million"}),
        ("2,500 km", {"2500 km", "2,500 km", "2 500 km", "2500", "2,500", "2 500"}),
        ("17.3%", {"17.3%", "17.3"}),
        ("12,345,670,000", {"12345670000", "12,345,670,000", "12 345 670 000", "12345.67 million"}),
        ("1,234,567,000,000", {"1234567000000", "1,234,567,000,000", "1 234 567 000 000", "1234567 million"}),
        ("8.14 million", {"8140000", "8,140,000", "8 140 000", "8.14 million"}),
        ("0.00001", {"0.00001"}),
        ("12345678901234567890", {"12345678901234567890"}),
        ("12,5 km", {"12,5 km", "12.5 km", "12.5"}),
        ("12.000 people", {"12.000 people"}),
        ("3.5km", {"3.5km"}),
        ("3,5 Millionen", {"3,5 Millionen", "3.5 Millionen"}),
        ("12 moons", {"12 moons", "twelve moons", "12", "twelve"}),
        ("1.234 million", {"1.234 million", "1234000", "1,234,000", "1 234 000"}),
        ("16.875 percent", {"16.875 percent", "16.875"}),
    ],
)
def test_numbers(answer, forms):
    assert set(list_spellings(answer, AnswerType.NUMBER)) == forms


@pytest.mark.parametrize("answer", ["between 3 and 5", "about 12"])
def test_an_answer_that_is_more_than_a_number_has_no_other_form(answer):
    assert list_spellings(answer, AnswerType.NUMBER) == [answer]


def test_names_and_strange_text_are_unchanged():
    for answer in ("Boeing 747", "true", "null", "1e5", "nul\x00"):
        assert list_spellings(answer, AnswerType.ENTITY) == [answer]


def test_aliases_have_their_forms_too_and_nothing_is_repeated():
    spellings_found = list_spellings("1875", AnswerType.DATE, "year", aliases=("12 March 1875", "1875"))
    assert spellings_found[:2] == ["1875", "12 March 1875"]
    assert len(spellings_found) == len(set(spellings_found))
    assert set(DAY) <= set(spellings_found)
