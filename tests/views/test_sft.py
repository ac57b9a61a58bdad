import orjson
import pytest

from pipeline.agents.environment import environment
from pipeline.config import RunConfig
from pipeline.types import Stop
from pipeline.views import sft
from tests.records import accepted, confirmed, draft, rollout, round_, world

ENVIRONMENT = environment(RunConfig())


def rows(record):
    return list(sft.rows(record, ENVIRONMENT))


def only(*styles):
    """An accepted record all of whose rollouts are of these styles."""
    w = world(1)
    record = accepted(1).model_copy(update={"rounds": (round_(w, draft(w), 0, styles),)})
    return confirmed(record, w, styles)


def test_one_row_with_the_whole_conversation():
    (row,) = rows(accepted(1))
    roles = [message["role"] for message in row["messages"]]
    assert roles == ["system", "user", *["assistant", "tool"] * 3, "assistant"]
    last = row["messages"][-1]["tool_calls"][0]["function"]
    assert last["name"] == "answer"
    assert orjson.loads(last["arguments"]) == {"answer": world(1).year}


def test_arguments_and_tools_are_json_text():
    (row,) = rows(accepted(1))
    functions = orjson.loads(row["tools"])
    assert [f["function"]["name"] for f in functions] == ["search", "open", "answer"]
    called = [c["function"] for m in row["messages"] for c in m["tool_calls"] or ()]
    assert all(isinstance(orjson.loads(c["arguments"]), dict) for c in called)


def test_every_call_but_the_last_is_answered_by_its_id():
    (row,) = rows(accepted(1))
    asked = [c["id"] for m in row["messages"] for c in m["tool_calls"] or ()]
    assert [m["tool_call_id"] for m in row["messages"] if m["role"] == "tool"] == asked[:-1]


@pytest.mark.parametrize("style", ["wrong", "repeats", "forced", "silent"])
def test_unfit_rollouts_are_left_out(style):
    assert rows(only(style)) == []
    assert len(rows(only(style, "right"))) == 1


def test_an_unsupported_right_answer_is_left_out():
    record = only("right")
    blind = tuple(v.model_copy(update={"supported": False}) for v in record.confirmation_verdicts)
    last = record.rounds[0].model_copy(update={"verdicts": blind})
    blind = tuple(v.model_copy(update={"sample": v.sample + 100}) for v in blind)
    assert rows(record.model_copy(update={"rounds": (last,), "confirmation_verdicts": blind})) == []


def test_format_errors_are_left_out():
    trajectory = rollout(world(1), draft(world(1)), 0).trajectory
    assert sft.fit(trajectory)
    assert not sft.fit(trajectory.model_copy(update={"format_errors": 1}))
    assert not sft.fit(trajectory.model_copy(update={"stop": Stop.SEARCH_BUDGET}))
    assert not sft.fit(trajectory.model_copy(update={"messages": trajectory.messages[:-1]}))


def test_the_shortest_rollout_is_chosen():
    (row,) = rows(only("right", "lucky", "right"))
    assert row["steps"] == 1
