"""The checklist of a chain: its steps and their dependence."""

import pytest

from pipeline.exports.trajectories import checklist as plan
from tests.records import draft, world

W = world(1)


def test_a_sub_question_names_the_earlier_answers_that_it_depends_on():
    hops = draft(W).hops
    dependent = hops[2].model_copy(update={"sub_question": f"When did {W.engineer.title} leave {W.town.title}?"})
    assert plan.step(dependent, hops[:2]) == ("When did #1 leave #2?", [1, 2])


def test_a_hop_that_was_not_found_has_no_evidence():
    (turn,) = plan.checklist(draft(W), (None, 2, None))
    assert [bool(item["evidence"]) for item in turn["checklist"]] == [False, True, False, False]


@pytest.mark.parametrize(
    ("question", "answers", "expected"),
    [
        ("In Lyon, who won prize 1?", ("Lyon", "1"), ("In #1, who won prize #2?", [1, 2])),
        ("Who left New York for York?", ("York", "New York"), ("Who left #2 for #1?", [1, 2])),
        ("Who left Lyon?", ("Lyon", "Lyon"), ("Who left #1?", [1])),
        ("Who left Lyon?", (), ("Who left Lyon?", [])),
    ],
)
def test_references_replace_answers_and_never_parts_of_each_other(question, answers, expected):
    hop = draft(W).hops[0]
    earlier = tuple(hop.model_copy(update={"answer": answer}) for answer in answers)
    assert plan.step(hop.model_copy(update={"sub_question": question}), earlier) == expected
