import orjson
import pytest

from pipeline.exports.views import dpo
from tests.exports.rollouts import ENVIRONMENT, W, make_record, make_rows
from tests.records import accepted


def rows(*styles):
    return make_rows(dpo, make_record(*styles))


def test_a_pair_starts_where_the_calls_first_differ():
    (row,) = rows("right", "wrong")
    assert [orjson.loads(m)["role"] for m in row["prompt"]] == ["system", "user", *["assistant", "tool"] * 2]
    queries = [
        orjson.loads(row[side][0])["tool_calls"][0]["function"]["arguments"]["query"] for side in ("chosen", "rejected")
    ]
    assert queries == [f"{W.town.title} founded", "church tower"]


def test_completions_are_one_turn_of_the_assistant():
    for row in rows("right", "wrong", "lucky", "silent"):
        for side in ("chosen", "rejected"):
            (text,) = row[side]
            assert orjson.loads(text)["role"] == "assistant"
        assert orjson.loads(row["prompt"][-1])["role"] in ("user", "tool")


def test_equal_pairs_are_one_row():
    assert len(rows("right", "right", "wrong", "wrong")) == 1


@pytest.mark.parametrize("styles", [("right", "right"), ("wrong", "wrong"), ("wrong", "repeats"), ("forced", "wrong")])
def test_a_pair_needs_a_right_rollout_worth_imitating_and_a_wrong_one(styles):
    assert rows(*styles) == []


def test_a_right_answer_without_its_evidence_is_not_rejected():
    record = accepted(1)
    blind = tuple(v.model_copy(update={"supported": v.sample != 101}) for v in record.confirmation_verdicts)
    lucky = record.model_copy(update={"confirmation_verdicts": blind})
    assert len(list(dpo.rows(lucky, ENVIRONMENT))) == len(list(dpo.rows(record, ENVIRONMENT)))


def test_other_words_with_the_same_call_make_no_pair():
    record = make_record("right", "wrong")
    first, second = record.confirmation
    messages = tuple(
        message.model_copy(update={"content": message.content + " now"}) if message.role == "assistant" else message
        for message in second.trajectory.messages
    )
    reworded = second.model_copy(update={"trajectory": second.trajectory.model_copy(update={"messages": messages})})
    assert make_rows(dpo, record.model_copy(update={"confirmation": (first, reworded)})) == []


def test_calls_that_differ_only_in_spacing_are_the_same():
    record = make_record("right", "wrong")
    right, wrong = record.confirmation
    spaced = [
        message.model_copy(
            update={
                "tool_calls": tuple(
                    call.model_copy(update={"arguments": call.arguments.replace('":"', '": "'), "repaired": True})
                    for call in message.tool_calls
                )
            }
        )
        for message in wrong.trajectory.messages
    ]
    spaced_rollout = wrong.model_copy(
        update={"trajectory": wrong.trajectory.model_copy(update={"messages": tuple(spaced)})}
    )
    changed = record.model_copy(update={"confirmation": (right, spaced_rollout)})
    assert make_rows(dpo, changed) == rows("right", "wrong")
