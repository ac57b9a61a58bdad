"""`adp`: the solver's rollouts of `sft` as trajectories of the Agent Data Protocol, schema version 1.5.0.

Rules: neulab/agent-data-protocol (arXiv 2510.24702), `schema/`. The columns are exactly those of a `Trajectory`, so a
row that `datasets` returns is one. A call and its result have the same id, each once. The call of `answer`, which has
no result, is a message with a reward. `details` must not hold the system prompt; it is in `environment.json`. A row
has no mask, so it has only the thought of the last turn if thoughts were not sent back to the model. Calls stay calls
even if the model was told about the tools in words.
"""

from collections.abc import Iterator
from typing import Any

import orjson

from pipeline.agents.environment_file import Environment
from pipeline.exports.trajectories import chat
from pipeline.exports.trajectories.selection import dump_conversation, examples
from pipeline.exports.views.base import SOLVED, Rows, View, provenance, render_for_model
from pipeline.store.arrow import columns
from pipeline.types import Message, Record

VERSION = "1.5.0"
SCHEMA = columns(schema_version=str, id=str, content=chat.MESSAGES, available_custom_tools=[str], details=chat.JSON)


def rows(record: Record, environment: Environment) -> Rows:
    number, environment = 0, environment.model_copy(update={"calls": "native"})
    for (agent, rollout, *_), _ in examples(record, environment, dump_conversation):
        if record.draft and agent == "solver":
            messages = render_for_model(rollout.trajectory.messages, 1, environment, agent)[1:]
            content = [orjson.dumps(item).decode() for message in messages for item in items(message, rollout.answer)]
            gold = {"answer": record.draft.answer, "answer_aliases": record.draft.answer_aliases}
            details = {**gold, **provenance(record, content), "source_id": record.key}
            yield {
                "schema_version": VERSION,
                "id": f"{record.key}-{number}" if number else record.key,
                "content": content,
                "available_custom_tools": [tool.name for tool in environment.tools if tool.name != "answer"],
                "details": orjson.dumps({k: v for k, v in details.items() if k != "id"}).decode(),
            }
            number += 1


def items(message: Message, answer: str) -> Iterator[dict[str, Any]]:
    if message.role == "user":
        yield {"class_": "text_observation", "content": message.content, "source": "user"}
    elif message.role == "tool":
        source = {"source": "environment", "tool_call_id": message.tool_call_id}
        yield {"class_": "text_observation", "content": message.content, **source}
    words = {"description": message.content, "reasoning_content": message.reasoning}
    words = {key: text for key, text in words.items() if text}
    for call in message.tool_calls:
        if call.name == "answer":
            yield {"class_": "message_action", "content": answer, "reward": 1.0, **words}
        else:
            action = {"class_": "api_action", "function": call.name, "kwargs": chat.arguments(call)}
            yield {**action, "tool_call_id": call.id, **words}
        # The words before several calls belong to the first.
        words = {}


VIEW = View(rows, SCHEMA, SOLVED)
