"""The protocol's own rules (schema and validators of neulab/agent-data-protocol, 1.5.0), written down independently."""

import re
from typing import Any, Literal

import orjson
from pydantic import BaseModel, ConfigDict

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.exports.views import adp
from tests.records import accepted, hostile

ENVIRONMENT = environment(RunConfig())
NUMERIC = re.compile(r"^(?:reward|score|step|tokens|difficulty)$|_(?:count|rate|score|reward|index|number|percent)$")


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    tool_call_id: str | None = None
    reward: float | None = None


class ApiAction(Strict):
    class_: Literal["api_action"]
    function: str
    kwargs: dict[str, Any]
    description: str | None = None
    reasoning_content: str | None = None


class MessageAction(Strict):
    class_: Literal["message_action"]
    content: str
    description: str | None = None
    reasoning_content: str | None = None


class TextObservation(Strict):
    class_: Literal["text_observation"]
    content: str
    source: Literal["user", "agent", "environment"]
    name: str | None = None


class Trajectory(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)
    schema_version: Literal["1.5.0"]
    id: str
    content: list[ApiAction | MessageAction | TextObservation]
    available_custom_tools: list[str] | None = None
    details: dict[str, Any] = {}


def list_faults(row: dict[str, Any]) -> list[str]:
    """Return what the validators would find; a row of a wrong shape raises."""
    loaded = {
        **row,
        "content": [orjson.loads(text) for text in row["content"]],
        "details": orjson.loads(row["details"]),
    }
    trajectory = Trajectory.model_validate(loaded)
    problems: list[str] = []
    call_ids: list[str] = []
    result_ids: list[str] = []
    for item in trajectory.content:
        if isinstance(item, ApiAction):
            problems += [] if item.tool_call_id else ["a call without an id"]
            problems += [] if item.function in (trajectory.available_custom_tools or ()) else ["an undeclared tool"]
            call_ids.append(item.tool_call_id or "")
        elif item.tool_call_id and isinstance(item, MessageAction):
            problems.append("a message with a call's id")
        elif item.tool_call_id:
            problems += [] if item.tool_call_id in call_ids else ["a result before its call"]
            problems += ["a result of the user"] if item.source == "user" else []
            result_ids.append(item.tool_call_id)
    problems += (
        [] if sorted(call_ids) == sorted(result_ids) == sorted(set(call_ids)) else ["calls and results do not match"]
    )
    details = trajectory.details
    problems += [
        f"{name} is no number" for name, value in details.items() if NUMERIC.search(name) and isinstance(value, str)
    ]
    return problems + [name for name in ("system_prompt", "available_apis") if name in details]


def test_every_row_is_a_valid_trajectory():
    for record in (accepted(1), accepted(2, rounds=3), hostile()):
        (row,) = adp.rows(record, ENVIRONMENT)
        assert list_faults(row) == []


def test_broken_rows_are_reported():
    (row,) = adp.rows(accepted(1), ENVIRONMENT)
    assert list_faults({**row, "content": row["content"][:-2]}) == ["calls and results do not match"]
    assert "a result before its call" in list_faults({**row, "content": row["content"][::-1]})
    assert list_faults({**row, "available_custom_tools": ["open"]}) == ["an undeclared tool"] * 3


def test_the_answer_is_a_message_with_a_reward_and_the_details_contain_the_gold_answer():
    (row,) = adp.rows(accepted(1), ENVIRONMENT)
    last = orjson.loads(row["content"][-1])
    assert last == {"class_": "message_action", "content": accepted(1).draft.answer, "reward": 1.0}
    details = orjson.loads(row["details"])
    assert details["answer"] == accepted(1).draft.answer
    assert details["trainable"] is False
    assert orjson.loads(row["content"][0])["source"] == "user"
