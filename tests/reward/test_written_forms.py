"""Answers with several written forms: each pair is scored in both directions, right and wrong."""

import random
import time

import pytest

from pipeline.exports.trajectories.spellings import spellings
from pipeline.reward import reward
from pipeline.reward.answers import NO, YES
from pipeline.reward.written_forms import unbox
from pipeline.types import AnswerType
from tests.graph_drafts import changed
from tests.records import draft, world

EQUAL = [
    # Numerals.
    ("three", "3"), ("Three", "3"), ("zero", "0"), ("twelve", "12"), ("nineteen", "19"), ("twenty", "20"),
    ("twenty-three", "23"), ("twenty three", "23"), ("ninety-nine", "99"), ("one hundred", "100"), ("a hundred", "100"),
    ("two hundred and five", "205"), ("two hundred five", "205"), ("one thousand", "1,000"), ("two thousand", "2000"),
    ("nineteen hundred", "1900"), ("twelve thousand three hundred", "12,300"), ("three million", "3,000,000"),
    ("five million people", "5,000,000 people"), ("one hundred thousand", "100000"), ("three km", "3 kilometres"),
    ("three metres", "3 m"), ("Ocean's Eleven", "Ocean's 11"), ("twelve men", "12 men"), ("3.0", "three"),
    ("one second", "1 sec"), ("forty-two years", "42 years"), (".5", "0.5"), ("2 million", "two million"),
    # Ordinals.
    ("first", "1st"), ("First", "1st"), ("second", "2nd"), ("third", "3rd"), ("fifth", "5th"), ("twelfth", "12th"),
    ("twentieth", "20th"), ("twenty-first", "21st"), ("thirty-second", "32nd"), ("fortieth", "40th"),
    ("the eleventh", "11th"), ("twenty-first century", "21st century"), ("the third place", "3rd place"),
    ("Fifth Avenue", "5th Avenue"), ("Second Symphony", "2nd Symphony"), ("hundred and first", "101st"),
    # Fractions.
    ("½", "0.5"), ("1/2", "0.5"), ("one half", "0.5"), ("half", "½"), ("a half", "1/2"), ("¼", "0.25"), ("¾", "0.75"),
    ("three quarters", "3/4"), ("three-quarters", "0.75"), ("two thirds", "⅔"), ("one third", "1/3"), ("5½", "5.5"),
    ("5 1/2", "5.5"), ("two and a half", "2.5"), ("5½ km", "5.5 km"), ("½ %", "0.5%"), ("a quarter", "1/4"),
    ("one fifth", "0.2"),
    # Days of any year.
    ("9 November", "November 9"), ("9 Nov.", "November 9"), ("9th November", "November 9th"),
    ("the 9th of November", "November 9"), ("9. November", "November 9"), ("November 09", "9 November"),
    ("Sunday, 9 November", "November 9"), ("29 February", "February 29"), ("ninth of November", "9 November"),
    # Years, their ranges and eras.
    ("1969–70", "1969-1970"), ("1969-70", "1969–1970"), ("1969/70", "1969-70"), ("1969 – 1970", "1969-70"),
    ("1999–2000", "1999-00"), ("from 1914 to 1918", "1914–1918"), ("1914 to 1918", "1914–18"),
    ("between 1914 and 1918", "1914-1918"), ("the 1969–70 season", "1969-1970 season"),
    ("1914 until 1918", "1914-1918"),
    ("AD 1969", "1969"), ("1969 AD", "1969"), ("A.D. 1969", "1969"), ("1969 CE", "1969"), ("1969 C.E.", "1969"),
    ("CE 1969", "1969"), ("AD 79", "79"), ("79 CE", "AD 79"), ("44 BC", "44 B.C."), ("44 BCE", "44 BC"),
    ("44 B.C.E.", "44 BC"), ("12 March AD 1875", "12 March 1875"), ("the 1960's", "1960s"), ("the 1960s", "1960s"),
    # Abbreviations.
    ("St. Louis", "Saint Louis"), ("St Louis", "Saint Louis"), ("St.Louis", "Saint Louis"), ("St-Denis", "Saint-Denis"),
    ("St. Paul's Cathedral", "Saint Paul's Cathedral"), ("Mont St. Michel", "Mont Saint-Michel"),
    ("Ste. Anne", "Sainte Anne"), ("Mt. Everest", "Mount Everest"), ("Mt Everest", "Mount Everest"),
    ("Ft. Worth", "Fort Worth"), ("Dr. Strange", "Doctor Strange"), ("Dr Strange", "Doctor Strange"),
    ("Martin Luther King Jr.", "Martin Luther King, Junior"), ("Martin Luther King, Jr.", "Martin Luther King Jr"),
    ("Wall St.", "Wall Street"), ("Wall St", "Wall Street"), ("Park Ave.", "Park Avenue"),
    ("Symphony No. 5", "Symphony Number 5"), ("№ 5", "No. 5"), ("#5", "No. 5"), ("Roe vs. Wade", "Roe v. Wade"),
    ("Brown vs Board", "Brown versus Board"),
    # Numbers of wars, kings and games.
    ("World War 2", "World War II"), ("World War Two", "World War II"), ("World War 1", "World War I"),
    ("World War One", "World War I"), ("Henry VIII", "Henry 8"), ("Louis XIV", "Louis 14"),
    ("Apollo XIII", "Apollo 13"),
    ("Super Bowl LVIII", "Super Bowl 58"), ("Rocky IV", "Rocky 4"), ("Henry V", "Henry 5"), ("Pius XII", "Pius 12"),
    ("Article IX", "Article 9"), ("Elizabeth II of England", "Elizabeth 2 of England"), ("Chapter XXIX", "Chapter 29"),
    # Quantities with what they are of.
    ("387 meters long", "387 metres"), ("387 metres in length", "387 m long"), ("387 m tall", "387 m high"),
    ("12 km wide", "12 kilometres"), ("12 feet deep", "12 ft"), ("12 m in diameter", "12 metres"), ("5 in total", "5"),
    ("35 years old", "35 years"), ("35 years of age", "35"), ("5 km² in size", "5 square kilometres"),
    ("0.387 km long", "387 metres"), ("75%", "75 percent"), ("75 per cent", "75%"),
    # What TeX wraps it in.
    (r"\boxed{Paris}", "Paris"), (r"$\boxed{Paris}$", "Paris"), (r"\boxed{\text{Paris}}", "Paris"),
    (r"\text{Paris}", "Paris"), (r"\(\boxed{42}\)", "42"), (r"\boxed{\frac{1}{2}}", "0.5"),
    (r"\boxed{Paris}.", "Paris"),
    (r"\boxed{ 1,234 }", "1234"),
]  # fmt: skip
UNEQUAL = [
    ("three", "4"), ("thirteen", "30"), ("three", "third"), ("3", "3rd"), ("first", "1"), ("first", "2nd"),
    ("two hundred", "2"), ("two hundred", "200,000"), ("twenty-three", "20"), ("twenty-three", "203"),
    ("one two", "12"), ("one two", "3"), ("twenty thirteen", "33"), ("one", "one half"), ("three km", "3 miles"),
    ("Three Sisters", "3"), ("Three Sisters", "4 Sisters"), ("Ocean's Eleven", "Ocean's 12"), ("five million", "5"),
    ("5 million", "5,000"), ("three or four", "3"), ("about three", "3"), ("the second", "2 seconds"),
    ("twenty-first", "20th"), ("twenty-first century", "20th century"), ("First Avenue", "5th Avenue"),
    ("thousand thousand", "1000"),
    ("½", "1"), ("½", "12"), ("½", "0.2"), ("5½", "5"), ("5½", "51/2"), ("6/8", "3/4"), ("9/5", "1.8"), ("1/2", "1-2"),
    ("1/2", "2/1"), ("half", "0.25"), ("1/3", "0.33"), ("3/4", "4/3"),
    ("9 November", "11 September"), ("9 November", "9 December"), ("9 November", "10 November"), ("November", "9"),
    ("31 February", "February 30"), ("9 November", "9"), ("November 9", "November"), ("9/11", "November 9"),
    ("1969–70", "1970"), ("1969–70", "1969"), ("1969–70", "1970–71"), ("1969-70", "1969-1971"), ("1969", "1969-1970"),
    ("1969 and 1970", "1969-1970"), ("1969-04", "1969-2004"), ("1914 or 1918", "1914-1918"), ("196970", "1969-70"),
    ("1999-00", "1999-1900"),
    ("44 BC", "44 AD"), ("44 BC", "44"), ("44 BC", "44 CE"), ("AD 1969", "1970"), ("AD 79", "79 BC"), ("1960s", "1960"),
    ("1969 AC", "1969"), ("ADHD", "HD"),
    ("St. Louis", "Louis"), ("St. Louis", "Street Louis"), ("St. Paul", "Saint Louis"), ("Mt. Everest", "Everest Mtn"),
    ("Saint Louis", "Sainte Louis"), ("Dr. Strange", "Mr. Strange"), ("Jr. Smith", "Sr. Smith"),
    ("Ken Griffey Jr.", "Ken Griffey Sr."), ("Ken Griffey Jr.", "Ken Griffey"), ("Wall St", "Wall Saint"),
    ("Symphony No. 5", "Symphony No. 6"), ("No. 5", "5"), ("5 ft", "Fort 5"), ("Main St", "Saint Main"),
    ("World War 2", "World War I"), ("World War II", "World War III"), ("World War 2", "World War 3"),
    ("World War", "World War I"), ("Malcolm X", "Malcolm 10"), ("size XL", "size 40"), ("Hepatitis C", "Hepatitis 100"),
    ("Henry VIII", "Henry VII"), ("Henry VIII", "Henry 7"), ("I", "1"), ("V", "5"), ("II", "3"),
    ("Henry IIII", "Henry 4"),
    ("Henry VX", "Henry 15"), ("Civil", "154"), ("I, Robot", "1, Robot"),
    ("387 metres long", "387 metres wide"), ("387 m tall", "387 m long"), ("387 metres long", "387 feet long"),
    ("387 metres long", "388 metres"), ("387 metres below", "387 metres"), ("12 km away from it", "12 km"),
    ("35 years old", "36 years old"), ("75%", "76 percent"), ("75 percent", "75 people"),
    (r"\boxed{Paris}", "London"), (r"\boxed{}", "Paris"), (r"\boxed{Paris} or \boxed{London}", "Paris"),
    (r"\boxed{Paris, London}", "Paris"), (r"\frac{1}{2}", "12"), ("boxed Paris", "Paris"),
]  # fmt: skip
WITH_MORE_DETAIL = [
    ("9 November 1989", "9 November"), ("November 9, 1989", "9 November"), ("1989-11-09", "9 November"),
]  # fmt: skip
"""Right as an answer, but too little the other way round."""


@pytest.mark.parametrize(
    ("pairs", "worth"), [(EQUAL, (1.0, 1.0)), (UNEQUAL, (0.0, 0.0)), (WITH_MORE_DETAIL, (1.0, 0.0))]
)
def test_each_pair_is_scored_in_both_directions(pairs: list[tuple[str, str]], worth: tuple[float, float]) -> None:
    assert [(a, b) for a, b in pairs if (reward.score(a, [b]), reward.score(b, [a])) != worth] == []


def test_a_month_among_the_spellings_of_a_date_is_no_season() -> None:
    golds = ["February 2001", "Feb 2001", "2001-02"]
    assert [reward.score(response, golds) for response in ("2001-02", "2001-2002", "2001/02")] == [1.0, 0.0, 0.0]


def list_golds(answer: str, kind: AnswerType) -> list[str]:
    """List the gold answers of a data set."""
    return spellings(changed(draft(world(1)), answer=answer, answer_aliases=(), answer_type=kind))


@pytest.mark.parametrize("word", sorted({*YES, *NO}))
def test_a_name_that_means_yes_or_no_in_some_language_is_a_name(word: str) -> None:
    yes, no = word in YES, word in NO
    as_name, as_word = (list_golds(word.title(), kind) for kind in (AnswerType.ENTITY, AnswerType.BOOLEAN))
    opposite = {"Да": "Нет", "Нет": "Да"}.get(word.title(), "Да" if yes else "Нет")
    for response in ("Да", "Нет"):
        assert reward.score(response, as_name) == float(response.casefold() == word.casefold())
    assert reward.score(word, as_name) == 1.0
    assert reward.score("Yes.", as_word) == float(yes)
    assert reward.score("no", as_word) == float(no)
    assert reward.score(opposite, as_word) == float((opposite == "Да") == yes)


PIECES = [
    *r"\boxed{ } \frac{1}{2} one two hundred thousand and - million first second th half quarter 1 2 9 / 1/2".split(),
    *"½ ⅔ ii xiv i v st. st saint mt. no. # ad bc a.d. c.e. 1969 70 –70 -70 from to between november nov. 9".split(),
    *"long tall in total old".split(),
    *"metres % per cent $ .5 , . ' 's Jr. vs. (Paris) \u200b ٣ 三 ² <".split(),
]  # fmt: skip


def test_any_sequence_of_pieces_is_scored() -> None:
    chance = random.Random(0)
    for _ in range(1000):
        response, gold = (
            "".join(part + chance.choice(["", " "]) for part in chance.choices(PIECES, k=k)) for k in (7, 4)
        )
        assert reward.score(response, [gold]) in (0.0, 1.0)
        if gold.strip():
            assert reward.score(gold, [gold]) == 1.0 or not any(c.isalnum() for c in unbox(gold)), gold


def measure_cost(piece: str, length: int) -> float:
    """Measure the processor's seconds for an answer of this length and a gold answer of half of it."""
    text = (piece * length)[:length]
    began = time.process_time()
    reward.score(text, ["12", text[: length // 2]])
    return time.process_time() - began


@pytest.mark.parametrize("piece", [part + between for part in PIECES for between in ("", " ")])
def test_time_is_linear_in_the_text(piece: str) -> None:
    # Once is enough, unless other tests slow this one down.
    assert any(measure_cost(piece, 12_000) < 8 * measure_cost(piece, 3_000) + 0.02 for _ in range(3))
