import orjson

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.exports.views import dpo_steps
from tests.fork_records import branched
from tests.records import accepted

ENVIRONMENT = environment(RunConfig())


def test_a_verified_pair_is_two_single_turns_after_the_failed_rollouts_own_state():
    (row,) = dpo_steps.rows(branched(), ENVIRONMENT)
    source = accepted(1).last.rollouts[1].trajectory.messages
    prompt, chosen, rejected = ([orjson.loads(text) for text in row[name]] for name in ("prompt", "chosen", "rejected"))
    assert [message["content"] for message in prompt] == [message.content for message in source[:6]]
    assert [message["role"] for message in (*chosen, *rejected)] == ["assistant", "assistant"]
    assert rejected[0]["tool_calls"][0]["function"]["arguments"] == {"query": "church tower"}
    assert chosen[0]["tool_calls"][0]["function"]["arguments"] == {"query": "Dunmere founded"}
    assert (row["chosen_solved"], row["chosen_tried"], row["rejected_solved"], row["rejected_tried"]) == (2, 2, 0, 4)
    assert (row["source"], row["failure"]) == (1, "missed_evidence")


def test_without_branching_there_is_no_row():
    assert list(dpo_steps.rows(accepted(1), ENVIRONMENT)) == []
