from difflib import SequenceMatcher

import orjson
import pytest

from pipeline.exports.views import steps
from tests.exports.rollouts import W, make_rows
from tests.fork_records import branched
from tests.records import accepted, confirmed, draft, rollout, trajectory, verdict


def rows(record):
    return make_rows(steps, record)


def test_there_is_a_row_per_turn_with_the_action_as_text():
    turn_rows = rows(accepted(1))
    assert [(row["step_index"], row["n_steps"], len(row["prompt"])) for row in turn_rows] == [
        (1, 4, 2), (2, 4, 4), (3, 4, 6), (4, 4, 8),
    ]  # fmt: skip
    assert turn_rows[0]["target_action"] == f'search {{"query":"{W.bridge.title} designer"}}'
    assert turn_rows[3]["target_action"] == f'answer {{"answer":"{W.year}"}}'
    assert [row["expected"] for row in turn_rows] == [[W.bridge.id], [W.engineer.id], [W.town.id], []]


def test_unprofiled_rows_have_no_variance_and_profiled_ones_have_both():
    assert {row["turn_variance"] for row in rows(accepted(1))} == {None}
    first, second, third, _ = rows(branched())
    assert (first["tried"], first["turn_pass"], first["turn_variance"]) == (4, 1.0, 0.0)
    assert (first["outcome_pass"], first["outcome_variance"]) == (0.5, 0.25)
    assert second["tried"] is None
    assert third["turn_variance"] == pytest.approx(0.1875)


def test_alternatives_are_actions_of_other_solved_rollouts_with_the_same_hops_found():
    d = draft(W)
    queries = ("the bridge over the river", f"{W.engineer.title} born", f"{W.town.title} founded")
    searches = [(query, (passage,)) for query, passage in zip(queries, W.chain, strict=True)]
    base = rollout(W, d, 103)
    another = base.model_copy(
        update={"trajectory": trajectory(base.trajectory.messages[:2], searches, ("answer", {"answer": W.year}))}
    )
    record = confirmed(accepted(1), W, [])
    record = record.model_copy(update={"confirmation": (another,), "confirmation_verdicts": (verdict(W, another, d),)})
    first, second, *_ = rows(record)
    assert first["alternatives"] == ['search {"query":"the bridge over the river"}']
    assert first["likeness"] == [SequenceMatcher(None, first["alternatives"][0], first["target_action"]).ratio()]
    assert second["alternatives"] == []


def test_a_row_of_nemo_gym_keeps_its_contract():
    for row in rows(accepted(1)):
        tree = orjson.loads(row["nemo_gym"])
        params, expected = tree["responses_create_params"], tree["expected_action"]
        assert expected["type"] == "function_call"
        assert isinstance(orjson.loads(expected["arguments"]), dict)
        assert expected["name"] in {tool["name"] for tool in params["tools"]}
        assert params["parallel_tool_calls"] is False
        call_ids = [item["call_id"] for item in params["input"] if item.get("type") == "function_call"]
        result_ids = [item["call_id"] for item in params["input"] if item.get("type") == "function_call_output"]
        assert call_ids == result_ids
        assert {"type": "function_call", **{k: expected[k] for k in ("name", "arguments")}} not in [
            {key: item.get(key) for key in ("type", "name", "arguments")} for item in params["input"]
        ]
        assert "null" not in row["nemo_gym"]
