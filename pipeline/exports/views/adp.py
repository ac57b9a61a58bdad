"""`adp`: the solver's rollouts of `sft` as trajectories of the Agent Data Protocol, schema version 1.5.0.

Rules: neulab/agent-data-protocol (arXiv 2510.24702), `schema/`: the columns are exactly a `Trajectory`'s, so that a
row as `datasets` gives it is one. Calls and their results carry the same id, each once; the call of `answer`, which
nothing answers, is a message with a reward. The system prompt may not stand in `details` and is in
`environment.json`. Thoughts that were not sent back were in the context of no later turn, and a row has no mask: only
the last turn's stands in it. Calls are given as calls also where the model was told of the tools in words.
"""

from collections.abc import Iterator
from typing import Any

import orjson

from pipeline.agents.environment_file import Environment
from pipeline.exports.trajectories import chat
from pipeline.exports.trajectories.selection import examples, said
from pipeline.exports.views.base import Rows, ViewOptions, provenance, shown
from pipeline.store.arrow import columns
from pipeline.types import Message, Record

VERSION = "1.5.0"
SCHEMA = columns(schema_version=str, id=str, content=chat.MESSAGES, available_custom_tools=[str], details=chat.JSON)
OPTIONS = ViewOptions(needs="a solved rollout that [sft] takes")


def rows(record: Record, environment: Environment) -> Rows:
    number, environment = 0, environment.model_copy(update={"calls": "native"})
    for (agent, rollout, *_), _ in examples(record, environment, said):
        if record.draft and agent == "solver":
            messages = shown(rollout.trajectory.messages, 1, environment, agent)[1:]
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
    """The actions of a turn, or the one observation that a message is."""
    if message.role == "user":
        yield {"class_": "text_observation", "content": message.content, "source": "user"}
    elif message.role == "tool":
        source = {"source": "environment", "tool_call_id": message.tool_call_id}
        yield {"class_": "text_observation", "content": message.content, **source}
    for place, call in enumerate(message.tool_calls):
        # What was said before several calls belongs to the first.
        said = {"description": message.content, "reasoning_content": message.reasoning} if place == 0 else {}
        said = {key: text for key, text in said.items() if text}
        if call.name == "answer":
            yield {"class_": "message_action", "content": answer, "reward": 1.0, **said}
        else:
            action = {"class_": "api_action", "function": call.name, "kwargs": chat.arguments(call)}
            yield {**action, "tool_call_id": call.id, **said}
