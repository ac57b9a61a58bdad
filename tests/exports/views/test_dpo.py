import orjson
import pytest

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.exports.views import dpo
from tests.records import accepted, confirmed, draft, round_, world

ENVIRONMENT = environment(RunConfig())
W = world(1)


def rows(*styles):
    """Of a question whose rollouts are of these styles, all in its confirmation."""
    record = accepted(1).model_copy(update={"rounds": (round_(W, draft(W), 0, []),)})
    return list(dpo.rows(confirmed(record, W, styles), ENVIRONMENT))


def test_they_part_where_the_calls_first_differ():
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


def test_a_pair_comes_once():
    assert len(rows("right", "right", "wrong", "wrong")) == 1


@pytest.mark.parametrize("styles", [("right", "right"), ("wrong", "wrong"), ("wrong", "repeats"), ("forced", "wrong")])
def test_no_pair_without_a_right_rollout_worth_imitating_and_a_wrong_one(styles):
    assert rows(*styles) == []


def test_a_right_answer_without_its_evidence_is_not_rejected():
    record = accepted(1)
    blind = tuple(v.model_copy(update={"supported": v.sample != 101}) for v in record.confirmation_verdicts)
    lucky = record.model_copy(update={"confirmation_verdicts": blind})
    assert len(list(dpo.rows(lucky, ENVIRONMENT))) == len(list(dpo.rows(record, ENVIRONMENT)))


def test_other_words_around_the_same_call_make_no_pair():
    record = accepted(1).model_copy(update={"rounds": (round_(W, draft(W), 0, []),)})
    record = confirmed(record, W, ["right", "wrong"])
    worded = []
    for message in record.confirmation[1].trajectory.messages:
        worded.append(
            message.model_copy(update={"content": message.content + " now"}) if message.role == "assistant" else message
        )
    trajectory = record.confirmation[1].trajectory.model_copy(update={"messages": tuple(worded)})
    other = record.confirmation[1].model_copy(update={"trajectory": trajectory})
    assert (
        list(dpo.rows(record.model_copy(update={"confirmation": (record.confirmation[0], other)}), ENVIRONMENT)) == []
    )


def test_calls_that_a_row_holds_alike_are_one_whatever_their_spacing():
    found = confirmed(accepted(1).model_copy(update={"rounds": (round_(W, draft(W), 0, []),)}), W, ["right", "wrong"])
    right, wrong = found.confirmation
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
    other = wrong.model_copy(update={"trajectory": wrong.trajectory.model_copy(update={"messages": tuple(spaced)})})
    assert list(dpo.rows(found.model_copy(update={"confirmation": (right, other)}), ENVIRONMENT)) == rows(
        "right", "wrong"
    )
