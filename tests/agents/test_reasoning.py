"""The kind of reasoning that a question mainly needs, derived from its draft."""

from typing import Any

import pytest

from pipeline.agents.reasoning import reasoning
from pipeline.types import AnswerType, Draft, Hop
from tests.graph_drafts import chained, computed, drafted, step
from tests.passages import hop, passage

HEIGHTS = ("91 m", "55 m", "23 m")
PAGES = [passage(f"t{n}", f"Tower {n}", f"Tower {n} is {height} high.") for n, height in enumerate(HEIGHTS)]
FILM = hop(passage("f", "Lantern Bay", "It was directed by Ada Holm."), "Ada Holm")
HOLM = hop(passage("h", "Ada Holm", "Ada Holm was born in Vessby."), "Vessby")
YEAR = hop(passage("y", "Lantern Bay", "It opened in 1936."), "1936")
PRIZE = hop(passage("p", "Prize of 1936", "The prize of 1936 went to Rufus Adair."), "Rufus Adair")
COUNT = hop(passage("c", "Vessby", "Vessby had 1936 people."), "1936")
BRIDGE = "Where was the director of Lantern Bay born?"


def make_chain(question: str, *hops: Hop) -> Draft:
    return chained(question, hops, answer_type=AnswerType.ENTITY)


def make_computed(operation: str, **fields: Any) -> Draft:
    steps = [step(page, height) for page, height in zip(PAGES, HEIGHTS, strict=True)]
    ids = [proposed["id"] for proposed in steps]
    needs = ids[:2] if operation in ("difference", "ratio") else ids
    operands = [proposed for proposed in steps if proposed["id"] in needs]
    return drafted("Which is it?", [*operands, computed(operation, *needs, **fields)], PAGES)


@pytest.mark.parametrize(
    ("draft", "kind"),
    [
        (make_computed("count", condition="over", bound="40 m"), "aggregation"),
        (make_computed("filter", condition="over", bound="40 m"), "aggregation"),
        (make_computed("list"), "aggregation"),
        (make_computed("difference", unit="m"), "calculation"),
        (make_computed("ratio"), "calculation"),
        (make_computed("extreme", which="most"), "comparison"),
        (make_chain(BRIDGE, FILM, HOLM), "bridge"),
        (make_chain("Wo kam die Person zur Welt, die Lantern Bay drehte?", FILM, HOLM), "bridge"),
        (make_chain("Who directed Lantern Bay?", FILM), "lookup"),
        (make_chain("Who had the prize of the year in which Lantern Bay opened?", YEAR, PRIZE), "temporal"),
        (make_chain("Wer bekam den Preis des Jahres, in dem Lantern Bay anlief?", YEAR, PRIZE), "temporal"),
        (make_chain("Who had the prize five years after the opening of Lantern Bay?", FILM, PRIZE), "temporal"),
        (make_chain("Who is the town named after in which Ada Holm was born?", FILM, HOLM), "bridge"),
        (make_chain("How many people live there?", HOLM, COUNT), "bridge"),
        (make_chain("How many years passed between the two?", HOLM, COUNT), "calculation"),
        (make_chain("Where was the director born who did not paint?", FILM, HOLM), "negation"),
        (make_chain("Which painter didn't live in Skerrow?", FILM, HOLM), "negation"),
        (make_chain("Where was the director of Never Say No or Don't Look born?", FILM, HOLM), "bridge"),
        (make_chain("Where is ship no 7 of the director from?", FILM, HOLM), "bridge"),
    ],
)
def test_a_draft_has_its_kind_of_reasoning(draft: Draft, kind: str) -> None:
    assert reasoning(draft) == kind
