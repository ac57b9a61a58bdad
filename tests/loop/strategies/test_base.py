"""A model's steps become a draft: the product takes the quotes, computes the answer and derives its type."""

import pytest

from pipeline.errors import FormatError
from pipeline.types import AnswerType
from tests.graph_drafts import chain, computed, drafted, step
from tests.passages import passage

TOWN = passage("town", "Vessby", "Vessby lies on\nthe Tarn.  It was founded\tby monks (around 1641).")
PORT = passage("port", "Skerrow", "Skerrow is a port. It was founded in 1702.")
BOTH = (TOWN, PORT)


def test_quote_is_the_passages_own_text() -> None:
    draft = drafted("When?", [step(TOWN, "1641")], BOTH)
    assert draft.hops[0].quote == "It was founded\tby monks (around 1641)."
    assert (draft.answer, draft.answer_type, draft.answer_precision) == ("1641", AnswerType.DATE, "year")


def test_answer_is_computed_from_the_steps() -> None:
    steps = [step(TOWN, "1641"), step(PORT, "1702"), computed("extreme", "town", "port", which="earliest")]
    draft = drafted("Which of Vessby and Skerrow is older?", steps, BOTH)
    assert (draft.answer, draft.answer_type, len(draft.hops)) == ("Vessby", AnswerType.COMPARISON, 2)


@pytest.mark.parametrize(
    ("steps", "message"),
    [
        ([step(TOWN, "1641"), step(PORT, "1702"), computed("ratio", "town", "port")], "dates have no ratio"),
        ([step(TOWN, "1641"), step(PORT, "1702")], "nothing leads from step 'town'"),
        ([step(TOWN, "1641", sentences=[9])], "numbers from 1 to 3"),
        ([step(TOWN, "")], "needs an answer"),
    ],
)
def test_faults_of_form_are_sent_back_to_the_model(steps: list[dict[str, object]], message: str) -> None:
    with pytest.raises(FormatError, match=message):
        drafted("When?", steps, BOTH)


def test_sub_question_of_a_hop_names_its_start() -> None:
    draft = drafted(
        "When?",
        chain(step(PORT, "Vessby", "Of what?", sentences=[1]), step(TOWN, "1641", "When was {port} founded?")),
        BOTH,
    )
    assert draft.hops[1].sub_question == "When was Vessby founded?"
