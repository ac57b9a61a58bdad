"""What a chain says of the way through it."""

from pipeline.exports.trajectories import checklist as plan
from tests.records import draft, world

W = world(1)


def test_a_sub_question_names_the_earlier_answers_that_it_depends_on():
    hops = draft(W).hops
    asked = hops[2].model_copy(update={"sub_question": f"When did {W.engineer.title} leave {W.town.title}?"})
    assert plan.step(asked, hops[:2]) == ("When did #1 leave #2?", [1, 2])


def test_an_item_without_a_reference_is_anchored_nowhere():
    (turn,) = plan.checklist(draft(W), (None, 2, None))
    assert [bool(item["evidence"]) for item in turn["checklist"]] == [False, True, False, False]
