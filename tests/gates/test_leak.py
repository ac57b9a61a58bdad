"""A question that contains its answer in any form is a leak, and one that only seems to is not."""

import pytest

from pipeline.types import AnswerType
from tests.gates.pairs import enable_only, make_pair, run_gates
from tests.graph_drafts import computed, drafted, step
from tests.passages import passage

DATE, NUMBER, ENTITY = AnswerType.DATE, AnswerType.NUMBER, AnswerType.ENTITY


@pytest.mark.parametrize(
    ("question", "answer", "kind"),
    [
        ("Where was Ada Brannick of Kirkholm born?", "Kirkholm", ENTITY),
        ("Where was Ada Brannick, the pride of KIRKHOLM, born?", "the Kirkholm", ENTITY),
        ("On what day, 19 August 2012, did he die?", "August 19, 2012", DATE),
        ("How many of the 3500 people live there?", "3,500", NUMBER),
        ("In what year was the town (also AD 1201) founded?", "1201", DATE),
    ],
)
def test_a_question_with_its_answer_is_a_leak(question: str, answer: str, kind: AnswerType) -> None:
    assert run_gates([make_pair(0, question=question, answer=answer, answer_type=kind)], enable_only("leak")) == [
        "leak"
    ]


@pytest.mark.parametrize(
    ("question", "answer", "kind"),
    [
        ("Which film came out first, Blind Shaft or The Mask of Fu Manchu?", "Blind Shaft", ENTITY),
        ("Which film came out first, Blind Shaft or The Mask of Fu Manchu?", "The Mask Of Fu Manchu", ENTITY),
        ("Between Tarn Crossing and Ouse Crossing, which is older?", "Ouse Crossing", ENTITY),
        ("Is No Way Out older than Kirkholm?", "no", ENTITY),
        ("On what day in August 2012 did he die?", "19 August 2012", DATE),
        ("Which of the two brothers founded the town in 1201, and in what year?", "1202", DATE),
        ("How many of the two brothers lived?", "2", NUMBER),
    ],
)
def test_a_question_that_only_seems_to_contain_its_answer_passes(question: str, answer: str, kind: AnswerType) -> None:
    assert run_gates([make_pair(0, question=question, answer=answer, answer_type=kind)], enable_only("leak")) == [""]


def test_a_small_number_in_words_does_not_leak_a_computed_one() -> None:
    question = "Two groups use it. How many years longer has the one been active than the other?"
    draft = {"question": question, "answer_aliases": ("two", "2 years"), "answer_type": NUMBER}
    assert run_gates([make_pair(0, **draft, answer="2")], enable_only("leak")) == ["leak"]
    pages = [passage(f"g{n}", f"Group {n}", f"It has been active since {2019 + 2 * n}.") for n in range(2)]
    steps = [*(step(page, str(2019 + 2 * n)) for n, page in enumerate(pages)), computed("difference", "g0", "g1")]
    graph = drafted(question, [*steps[:2], steps[2] | {"unit": "years"}], pages).graph
    assert run_gates([make_pair(0, **draft, graph=graph)], enable_only("leak")) == [""]
