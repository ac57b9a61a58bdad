import orjson
import pytest

from pipeline.exports.views import base, kto
from tests.exports.rollouts import ENVIRONMENT, make_record, make_rows


def rows(*styles):
    return make_rows(kto, make_record(*styles))


def test_the_label_is_whether_the_rollout_was_correct():
    assert [row["label"] for row in rows("right", "wrong", "lucky")] == [True, False, True]


def test_the_completion_is_the_answer_alone():
    (row,) = rows("right")
    (text,) = row["completion"]
    assert orjson.loads(text)["tool_calls"][0]["function"]["name"] == "answer"
    assert orjson.loads(row["prompt"][-1])["role"] == "tool"


def test_no_row_without_an_answer_and_none_twice():
    assert rows("silent") == []
    assert len(rows("right", "right")) == 1


def test_a_right_answer_without_its_evidence_makes_no_row():
    record_of_one = make_record("right")
    blind = tuple(v.model_copy(update={"supported": False}) for v in record_of_one.confirmation_verdicts)
    assert list(kto.rows(record_of_one.model_copy(update={"confirmation_verdicts": blind}), ENVIRONMENT)) == []


@pytest.mark.parametrize("view", ["kto", "dpo"])
def test_an_unjudged_answer_without_its_evidence_makes_no_row(view):
    pair = make_record("right", "wrong")
    judged, blind = pair.confirmation_verdicts
    unjudged = (judged, blind.model_copy(update={"method": "none"}))
    row_lists = [
        list(base.load(view).rows(pair.model_copy(update={"confirmation_verdicts": verdicts}), ENVIRONMENT))
        for verdicts in ((judged, blind), unjudged)
    ]
    assert len(row_lists[0]) - len(row_lists[1]) == 1
    assert all(row.get("label", True) for row in row_lists[1])
