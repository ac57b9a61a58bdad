import orjson
import pytest

from pipeline.exports.trajectories.cleaning import is_trainable
from pipeline.exports.views import sft
from pipeline.types import Stop
from tests.exports.rollouts import ENVIRONMENT, make_rows, make_uniform_record
from tests.records import accepted, draft, rollout, trajectory, world
from tests.teacher_rollouts import taught


def rows(record):
    return make_rows(sft, record)


def test_one_row_with_the_whole_conversation():
    (row,) = rows(accepted(1))
    messages = [orjson.loads(message) for message in row["messages"]]
    assert [m["role"] for m in messages] == ["system", "user", *["assistant", "tool"] * 3, "assistant"]
    last = messages[-1]["tool_calls"][0]["function"]
    assert last == {"name": "answer", "arguments": {"answer": world(1).year}}


def test_tools_are_those_of_the_environment():
    (row,) = rows(accepted(1))
    assert [f["function"]["name"] for f in orjson.loads(row["tools"])] == ["search", "open", "answer"]


def test_every_call_but_the_last_is_answered_by_its_id():
    (row,) = rows(accepted(1))
    messages = [orjson.loads(message) for message in row["messages"]]
    call_ids = [c["id"] for m in messages for c in m.get("tool_calls", ())]
    assert [m["tool_call_id"] for m in messages if m["role"] == "tool"] == call_ids[:-1]


def test_provenance_is_in_columns_and_in_no_message():
    record = accepted(1)
    (row,) = rows(record)
    assert (row["id"], row["run"], row["licence"]) == (record.key, record.lineage.run, record.lineage.licence)
    assert not any(record.key in text or record.lineage.run in text for text in row["messages"])
    assert row["tokens"] > 200


@pytest.mark.parametrize("style", ["wrong", "repeats", "forced", "silent"])
def test_unfit_rollouts_are_left_out(style):
    assert rows(make_uniform_record(style)) == []
    assert len(rows(make_uniform_record(style, "right"))) == 1


def test_an_unsupported_right_answer_is_left_out():
    record = make_uniform_record("right")
    blind = tuple(v.model_copy(update={"supported": False}) for v in record.confirmation_verdicts)
    last = record.rounds[0].model_copy(update={"verdicts": blind})
    blind = tuple(v.model_copy(update={"sample": v.sample + 100}) for v in blind)
    assert rows(record.model_copy(update={"rounds": (last,), "confirmation_verdicts": blind})) == []


def test_format_errors_are_left_out():
    trajectory = rollout(world(1), draft(world(1)), 0).trajectory
    assert is_trainable(trajectory)
    assert not is_trainable(trajectory.model_copy(update={"format_errors": 1}))
    assert not is_trainable(trajectory.model_copy(update={"stop": Stop.SEARCH_BUDGET}))
    assert not is_trainable(trajectory.model_copy(update={"messages": trajectory.messages[:-1]}))


def test_the_shortest_rollout_is_chosen():
    (row,) = rows(make_uniform_record("right", "lucky", "right"))
    assert row["steps"] == 1


def test_kept_teacher_rollouts_are_rows_with_the_environments_prompt():
    solver, *taught_rows = rows(taught())
    assert (solver["agent"], solver["resisted"], solver["weight"]) == ("solver", None, 1)
    assert [(row["agent"], row["resisted"]) for row in taught_rows] == [("teacher", True), ("teacher", None)]
    for row in taught_rows:
        assert orjson.loads(row["messages"][0])["content"] == ENVIRONMENT.system
        assert row["id"] == solver["id"]


def test_a_teacher_rollout_that_is_dropped_or_unfit_is_no_row():
    record = taught()
    dropped = tuple(rollout.model_copy(update={"kept": False}) for rollout in record.teacher_rollouts)
    assert len(rows(record.model_copy(update={"teacher_rollouts": dropped}))) == 1
    first = record.teacher_rollouts[0]
    forced = first.rollout.trajectory.model_copy(update={"format_errors": 1})
    unfit = first.model_copy(update={"rollout": first.rollout.model_copy(update={"trajectory": forced})})
    assert len(rows(record.model_copy(update={"teacher_rollouts": (unfit,)}))) == 1


def test_the_same_trajectory_is_one_row():
    record = taught()
    copies = tuple(rollout.model_copy(update={"rollout": rollout.rollout}) for rollout in record.teacher_rollouts)
    assert rows(record.model_copy(update={"teacher_rollouts": (*record.teacher_rollouts, *copies)})) == rows(record)
    solver = record.teacher_rollouts[0].model_copy(update={"rollout": record.confirmation[0], "kept": True})
    assert len(rows(record.model_copy(update={"teacher_rollouts": (solver,)}))) == 1


def test_only_the_assistants_turns_have_a_loss():
    for row in rows(taught()):
        roles = [orjson.loads(message)["role"] for message in row["messages"]]
        assert row["loss"] == [role == "assistant" for role in roles]
        assert "tool" in roles


@pytest.mark.parametrize(("searches", "weight"), [(49, 1), (50, 2)])
def test_the_weight_depends_only_on_the_assistants_turns(searches, weight):
    record, w = make_uniform_record("right"), world(1)
    solved, last = record.confirmation[0], ("answer", {"answer": w.year})
    searched = [(f"{w.town.title} {n}", w.noise[:1]) for n in range(searches)]
    long = trajectory(solved.trajectory.messages[:2], searched, last)
    lengthened = record.model_copy(update={"confirmation": (solved.model_copy(update={"trajectory": long}),)})
    (row,) = rows(lengthened.model_copy(update={"rounds": make_uniform_record("wrong").rounds}))
    assert (len(row["messages"]), row["weight"]) == (2 * searches + 3, weight)
