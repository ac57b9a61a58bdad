"""What a question mainly asks of whoever answers it, as its draft says it."""

from typing import Any

import pytest

from pipeline.agents.reasoning import reasoning
from pipeline.types import AnswerType, Draft, Hop
from tests.graphs import chained, computed, drafted, step
from tests.shelf import hop, passage

HEIGHTS = ("91 m", "55 m", "23 m")
PAGES = [passage(f"t{n}", f"Tower {n}", f"Tower {n} is {height} high.") for n, height in enumerate(HEIGHTS)]
FILM = hop(passage("f", "Lantern Bay", "It was directed by Ada Holm."), "Ada Holm")
HOLM = hop(passage("h", "Ada Holm", "Ada Holm was born in Vessby."), "Vessby")
YEAR = hop(passage("y", "Lantern Bay", "It opened in 1936."), "1936")
PRIZE = hop(passage("p", "Prize of 1936", "The prize of 1936 went to Rufus Adair."), "Rufus Adair")
COUNT = hop(passage("c", "Vessby", "Vessby had 1936 people."), "1936")
BRIDGE = "Where was the director of Lantern Bay born?"


def draft(question: str, *hops: Hop) -> Draft:
    return chained(question, hops, answer_type=AnswerType.ENTITY)


def result(operation: str, **fields: Any) -> Draft:
    steps = [step(page, height) for page, height in zip(PAGES, HEIGHTS, strict=True)]
    ids = [each["id"] for each in steps]
    needs = ids[:2] if operation in ("difference", "ratio") else ids
    used = [each for each in steps if each["id"] in needs]
    return drafted("Which is it?", [*used, computed(operation, *needs, **fields)], PAGES)


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        (result("count", condition="over", bound="40 m"), "aggregation"),
        (result("filter", condition="over", bound="40 m"), "aggregation"),
        (result("list"), "aggregation"),
        (result("difference", unit="m"), "calculation"),
        (result("ratio"), "calculation"),
        (result("extreme", which="most"), "comparison"),
        (draft(BRIDGE, FILM, HOLM), "bridge"),
        (draft("Wo kam die Person zur Welt, die Lantern Bay drehte?", FILM, HOLM), "bridge"),
        (draft("Who directed Lantern Bay?", FILM), "lookup"),
        (draft("Who had the prize of the year in which Lantern Bay opened?", YEAR, PRIZE), "temporal"),
        (draft("Wer bekam den Preis des Jahres, in dem Lantern Bay anlief?", YEAR, PRIZE), "temporal"),
        (draft("Who had the prize five years after the opening of Lantern Bay?", FILM, PRIZE), "temporal"),
        (draft("Who is the town named after in which Ada Holm was born?", FILM, HOLM), "bridge"),
        (draft("How many people live there?", HOLM, COUNT), "bridge"),
        (draft("How many years passed between the two?", HOLM, COUNT), "calculation"),
        (draft("Where was the director born who did not paint?", FILM, HOLM), "negation"),
        (draft("Which painter didn't live in Skerrow?", FILM, HOLM), "negation"),
        (draft("Where was the director of Never Say No or Don't Look born?", FILM, HOLM), "bridge"),
        (draft("Where is ship no 7 of the director from?", FILM, HOLM), "bridge"),
    ],
)
def test_a_draft_says_what_it_asks(asked: Draft, wanted: str) -> None:
    assert reasoning(asked) == wanted
