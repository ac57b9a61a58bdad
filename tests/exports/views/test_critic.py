import orjson
import pytest

from pipeline.exports.views import critic
from tests.exports.rollouts import W, make_record, make_rows
from tests.records import accepted, draft


def rows(record):
    return make_rows(critic, record)


def test_every_rollout_of_the_final_question_is_judged_once():
    judged = rows(accepted(1))
    # The confirmation comes first, and the round's rollouts are identical to it.
    assert [row["sample"] for row in judged] == [100, 101, 102]
    assert sum(row["gold_correct"] for row in judged) == 2
    wrong = next(row for row in judged if row["sample"] == 102)
    assert (wrong["failure"], wrong["answer_pred"]) == ("missed_evidence", W.wrong)
    assert wrong["passed"] == [True, True, False, False]


def test_the_summary_has_each_step_once_with_its_sources_and_hops():
    repeats = next(row for row in rows(accepted(1)) if row["sample"] == 101)
    assert [step["step"] for step in repeats["trajectory_summary"]] == [1, 2, 3]
    assert [step["hops"] for step in repeats["trajectory_summary"]] == [[1], [2], [3]]
    assert W.bridge.id in repeats["trajectory_summary"][0]["passage_ids"]


def test_the_checklist_is_cm2s_with_an_item_for_each_hop_and_the_answer():
    row = rows(accepted(1))[0]
    (turn,) = orjson.loads(row["checklist"])
    ids = [item["id"] for item in turn["checklist"]]
    assert ids == ["C0", "C1", "C2", "C3"]
    assert len(row["passed"]) == len(ids)
    assert sum(turn["weight"].values()) == pytest.approx(1.0)
    assert set(turn["weight"]) == set(turn["dependence"]) == set(ids)
    assert turn["dependence"]["C3"] == ["C2"]
    assert all(earlier < later for later, needs in turn["dependence"].items() for earlier in needs)
    keys = {"id", "evidence", "focus_on", "question", "pass_condition", "failure_examples", "required_for_next_turn"}
    assert all(set(item) == keys for item in turn["checklist"])
    assert turn["checklist"][0]["evidence"] == [
        {"turn": 0, "step": 1, "from": "tool.content", "snippet": draft(W).hops[0].quote}
    ]


def test_an_unjudged_answer_without_its_evidence_is_neither_right_nor_wrong():
    record = make_record("wrong", "silent")
    unjudged = tuple(verdict.model_copy(update={"method": "none"}) for verdict in record.confirmation_verdicts)
    for verdicts, right in ((record.confirmation_verdicts, False), (unjudged, None)):
        wrong, silent = rows(record.model_copy(update={"confirmation_verdicts": verdicts}))
        assert (wrong["right"], wrong["passed"][-1], wrong["gold_correct"]) == (right, right, False)
        assert (silent["right"], silent["passed"][-1]) == (False, False)
