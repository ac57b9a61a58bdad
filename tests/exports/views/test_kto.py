import orjson
import pytest

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.exports.views import base, kto
from tests.records import accepted, confirmed, draft, round_, world

ENVIRONMENT = environment(RunConfig())
W = world(1)


def record(*styles):
    bare = accepted(1).model_copy(update={"rounds": (round_(W, draft(W), 0, []),)})
    return confirmed(bare, W, styles)


def rows(*styles):
    return list(kto.rows(record(*styles), ENVIRONMENT))


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


def test_a_right_answer_without_its_evidence_is_neither():
    found = record("right")
    blind = tuple(v.model_copy(update={"supported": False}) for v in found.confirmation_verdicts)
    assert list(kto.rows(found.model_copy(update={"confirmation_verdicts": blind}), ENVIRONMENT)) == []


@pytest.mark.parametrize("view", ["kto", "dpo"])
def test_an_answer_without_its_evidence_that_nobody_judged_makes_no_row(view):
    found = record("right", "wrong")
    asked, skipped = found.confirmation_verdicts
    unjudged = (asked, skipped.model_copy(update={"method": "none"}))
    made = [
        list(base.load(view).rows(found.model_copy(update={"confirmation_verdicts": verdicts}), ENVIRONMENT))
        for verdicts in ((asked, skipped), unjudged)
    ]
    assert len(made[0]) - len(made[1]) == 1
    assert all(row.get("label", True) for row in made[1])
