from difflib import SequenceMatcher

import orjson
import pytest

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.exports.views import steps
from tests.forks import branched
from tests.records import accepted, confirmed, draft, rollout, trajectory, verdict, world

ENVIRONMENT = environment(RunConfig())
W = world(1)


def rows(record):
    return list(steps.rows(record, ENVIRONMENT))


def test_a_row_for_each_turn_with_the_action_as_text():
    found = rows(accepted(1))
    assert [(row["step_index"], row["n_steps"], len(row["prompt"])) for row in found] == [
        (1, 4, 2), (2, 4, 4), (3, 4, 6), (4, 4, 8),
    ]  # fmt: skip
    assert found[0]["target_action"] == f'search {{"query":"{W.bridge.title} designer"}}'
    assert found[3]["target_action"] == f'answer {{"answer":"{W.year}"}}'
    assert [row["expected"] for row in found] == [[W.bridge.id], [W.engineer.id], [W.town.id], []]


def test_unprofiled_rows_say_so_and_profiled_ones_have_both_variances():
    assert {row["turn_variance"] for row in rows(accepted(1))} == {None}
    first, second, third, _ = rows(branched())
    assert (first["tried"], first["turn_pass"], first["turn_variance"]) == (4, 1.0, 0.0)
    assert (first["outcome_pass"], first["outcome_variance"]) == (0.5, 0.25)
    assert second["tried"] is None
    assert third["turn_variance"] == pytest.approx(0.1875)


def test_alternatives_are_what_other_solved_rollouts_did_with_the_same_hops_known():
    d = draft(W)
    other = [("the bridge over the river", (W.bridge,)), (f"{W.engineer.title} born", (W.engineer,)),
             (f"{W.town.title} founded", (W.town,))]  # fmt: skip
    base = rollout(W, d, 103)
    made = base.model_copy(
        update={"trajectory": trajectory(base.trajectory.messages[:2], other, ("answer", {"answer": W.year}))}
    )
    record = confirmed(accepted(1), W, [])
    record = record.model_copy(update={"confirmation": (made,), "confirmation_verdicts": (verdict(W, made, d),)})
    first, second, *_ = rows(record)
    assert first["alternatives"] == ['search {"query":"the bridge over the river"}']
    assert first["likeness"] == [SequenceMatcher(None, first["alternatives"][0], first["target_action"]).ratio()]
    assert second["alternatives"] == []


def test_a_row_of_nemo_gym_keeps_its_contract():
    for row in rows(accepted(1)):
        tree = orjson.loads(row["nemo_gym"])
        asked, expected = tree["responses_create_params"], tree["expected_action"]
        assert expected["type"] == "function_call"
        assert isinstance(orjson.loads(expected["arguments"]), dict)
        assert expected["name"] in {tool["name"] for tool in asked["tools"]}
        assert asked["parallel_tool_calls"] is False
        called = [item["call_id"] for item in asked["input"] if item.get("type") == "function_call"]
        answered = [item["call_id"] for item in asked["input"] if item.get("type") == "function_call_output"]
        assert called == answered
        assert {"type": "function_call", **{k: expected[k] for k in ("name", "arguments")}} not in [
            {key: item.get(key) for key in ("type", "name", "arguments")} for item in asked["input"]
        ]
        assert "null" not in row["nemo_gym"]
