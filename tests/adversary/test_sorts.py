"""What an opening is about, on sentences as encyclopaedias have them."""

import pytest

from pipeline.adversary.sorts import is_person, may_live, same_sort, sort

LIVING = [
    "Jane Doe (born March 3, 1962) is an American actress.",
    "Jane Doe is a Swedish painter.",
    "Juan Perez was a Spanish footballer who played for Betis.",
    "Alex Roe is known for three books. She lives in Leeds.",
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
    "",
]


@pytest.mark.parametrize("text", LIVING)
def test_who_is_not_known_to_be_dead_may_live(text: str) -> None:
    assert is_person(text)
    assert may_live(text)


@pytest.mark.parametrize("text", DEAD)
def test_the_dead_are_known_by_the_text(text: str) -> None:
    assert is_person(text)
    assert not may_live(text)


@pytest.mark.parametrize("text", THINGS)
def test_a_thing_is_no_person(text: str) -> None:
    assert not is_person(text)


def test_things_of_one_sort_are_called_by_one_noun() -> None:
    assert sort(THINGS[0]) == "1926 silent drama film"
    assert same_sort("A is an American film director, and more.", "B was an English film director.")
    assert not same_sort(THINGS[1], THINGS[2])
    assert not same_sort("", "")
