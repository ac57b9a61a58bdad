"""What a question mainly asks of whoever answers it, as its draft says it."""

import pytest

from pipeline.agents.reasoning import Reasoning, reasoning
from pipeline.types import AnswerItem, AnswerType, Draft, Program
from tests.shelf import hop, passage

FILM = hop(passage("f", "Lantern Bay", "It was directed by Ada Holm."), "Ada Holm")
HOLM = hop(passage("h", "Ada Holm", "Ada Holm was born in Vessby."), "Vessby")
YEAR = hop(passage("y", "Lantern Bay", "It opened in 1936."), "1936")
PRIZE = hop(passage("p", "Prize of 1936", "The prize of 1936 went to Rufus Adair."), "Rufus Adair")
OTHER = hop(passage("o", "Rufus Adair", "Rufus Adair was born in Skerrow."), "Skerrow")
COUNT = hop(passage("c", "Vessby", "Vessby had 1936 people."), "1936")


def draft(question: str, *hops: object, answer: str = "", **more: object) -> Draft:
    given = {"answer_type": AnswerType.ENTITY, "answer": answer or hops[-1].answer, **more}  # type: ignore[attr-defined]
    return Draft.model_validate({"question": question, "hops": hops, **given})


BRIDGE = "Where was the director of Lantern Bay born?"
LIST = (AnswerItem(answer="Vessby"), AnswerItem(answer="Skerrow"))


def computed(operation: str) -> Draft:
    program = Program.model_validate({"operation": operation, "values": [{"hop": n, "value": "1936"} for n in (0, 1)]})
    return draft("Which is it?", YEAR, COUNT, program=program)


@pytest.mark.parametrize(
    ("asked", "wanted"),
    [
        (computed("count"), "aggregation"),
        (computed("difference"), "calculation"),
        (computed("latest"), "comparison"),
        (draft(BRIDGE, FILM, HOLM), "bridge"),
        (draft("Wo kam die Person zur Welt, die Lantern Bay drehte?", FILM, HOLM), "bridge"),
        (draft("Who directed Lantern Bay?", FILM, family="control"), "lookup"),
        (draft(BRIDGE, FILM, HOLM, family="conjunction"), "conjunction"),
        (draft(BRIDGE, FILM, HOLM, family="meeting"), "conjunction"),
        (draft("Who had the prize of the year in which Lantern Bay opened?", YEAR, PRIZE), "temporal"),
        (draft("Wer bekam den Preis des Jahres, in dem Lantern Bay anlief?", YEAR, PRIZE), "temporal"),
        (draft("Who had the prize five years after the opening of Lantern Bay?", FILM, PRIZE), "temporal"),
        (draft("Who is the town named after in which Ada Holm was born?", FILM, HOLM), "bridge"),
        (draft("Vessby or Skerrow: which is older?", FILM, HOLM, answer_type=AnswerType.COMPARISON), "comparison"),
        (draft("Were both born in one town?", HOLM, OTHER, answer="no", answer_type=AnswerType.BOOLEAN), "comparison"),
        (draft("Was its director born in Vessby?", FILM, HOLM, answer="yes", answer_type=AnswerType.BOOLEAN), "bridge"),
        (draft("Where were the two born?", FILM, HOLM, answer_type=AnswerType.LIST, answer_items=LIST), "aggregation"),
        (draft("How many people live there?", HOLM, COUNT, answer_type=AnswerType.NUMBER), "bridge"),
        (draft("How many years passed between the two?", HOLM, COUNT, answer_type=AnswerType.NUMBER), "calculation"),
        (draft("How many are there in all?", HOLM, COUNT, answer="2000", answer_type=AnswerType.NUMBER), "calculation"),
        (draft("Where was the director born who did not paint?", FILM, HOLM), "negation"),
        (draft("Which painter didn't live in Skerrow?", FILM, HOLM), "negation"),
        (draft("Where was the director of Never Say No or Don't Look born?", FILM, HOLM), "bridge"),
        (draft("Where is ship no 7 of the director from?", FILM, HOLM), "bridge"),
    ],
)  # fmt: skip
def test_a_draft_says_what_it_asks(asked: Draft, wanted: str) -> None:
    assert reasoning(asked) == wanted


def test_the_year_that_a_hop_gives_is_known_by_its_kind_where_its_form_does_not_say_it() -> None:
    told = YEAR.model_copy(update={"answer": "the summer of the great fire", "answer_kind": "year"})
    assert reasoning(draft("Who had the prize of that time?", told, PRIZE)) is Reasoning.TEMPORAL
