"""The subject of an opening sentence, as encyclopaedias write it."""

import pytest

from pipeline.distractors.entities import asked_nouns, head_nouns, is_dated, is_person, may_live, noun_phrase

LIVING = [
    "Jane Doe (born March 3, 1962) is an American actress.",
    "Jane Doe is a Swedish painter.",
    "Juan Perez was a Spanish footballer who played for Betis.",
    "Alex Roe is known for three books. She lives in Leeds.",
    "Len Roe (born 20 June 1941) is an English film and television director.",
    "Tim Roe (born October 23, 1959) is a filmmaker known for the Lantern trilogy (2002-2007). Its star Ida Moe died.",
    "Jo Roe (born 1962) is an actress, best known for 1883.",
    "Sir Alan Parker CBE (14 February 1944) was an English filmmaker. His career spanned decades.",
]
DEAD = [
    "Jane Doe (March 3, 1862 - May 5, 1931) was an American actress.",
    "Karl Roe (1801–1877) was a poet.",
    "Ann Roe was an English nurse. She died in 1951 in Leeds.",
    "Tom Roe (born 1795) was a whaler from Hull.",
    "Rex Roe was a French king who was executed in 1793.",
]
THINGS = [
    "Lantern Bay is a 1926 silent drama film directed by Ada Holm. It tells of a keeper and his wife.",
    "Vessby is a town on the Tarn.",
    "The River Tarn is a river in the north.",
    "LaFace Records was an American record label. It was founded in 1989.",
    "Lantern Bay is a 2004 musical biopic. It tells of Ada Holm and his life.",
    "",
]


@pytest.mark.parametrize("text", LIVING)
def test_a_person_not_known_to_be_dead_may_live(text: str) -> None:
    assert is_person(text)
    assert may_live(text)


@pytest.mark.parametrize("text", DEAD)
def test_a_text_shows_that_a_person_is_dead(text: str) -> None:
    assert is_person(text)
    assert not may_live(text)


@pytest.mark.parametrize("text", THINGS)
def test_a_thing_is_no_person(text: str) -> None:
    assert not is_person(text)


def test_things_of_one_sort_share_a_head_noun() -> None:
    assert noun_phrase(THINGS[0]) == "1926 silent drama film"
    american, english = "A is an American film director, and more.", "B was an English film director."
    assert head_nouns(american) == head_nouns(english) == {"director"}
    assert head_nouns("The Ohio River is a 981-mile (1,579 km) long river in the north.") == {"river"}
    console = "The Advance (GBA) is a 32-bit handheld game console developed, made and sold by Ada."
    assert head_nouns(console) == {"console"}
    assert head_nouns("The Atlantic Ocean is the second largest of the oceans.") == head_nouns("") == set()


def test_a_question_names_the_sort_that_it_asks_for() -> None:
    assert asked_nouns("In which capital city was Ada Holm born?") == {"city"}
    assert asked_nouns("The Wabash River is the largest tributary of which river?") == {"river"}
    assert {"city", "county"} <= asked_nouns("Where is Channel 4 headquartered?")
    assert "director" in asked_nouns("By whom was Lantern Bay directed?")
    assert asked_nouns("Who is it?") == set()


def test_a_person_with_dates_is_surely_a_person() -> None:
    assert [is_dated(text) for text in DEAD[:4]] == [True, True, False, True]
    assert not any(map(is_dated, THINGS))
