"""`sft`: one solved trajectory per question, as OpenAI messages with tool calls; for TRL's SFTTrainer and verl.

Rules: TRL "Dataset formats" (`messages`, and `tools` as a JSON string) and verl's MultiTurnSFTDataset. Arguments are
JSON strings, since Arrow would pad the keys of unlike tools with nulls; absent keys are null, which TRL removes again.
The rollout is the shortest correct one whose answer was supported, ended on its own, repeated no call and broke no
format. It ends on the call of `answer`.
"""

from collections.abc import Iterator
from typing import Any

import orjson
import pyarrow as pa

from pipeline.agents.environment import Environment
from pipeline.llm.base import Tool
from pipeline.process import process
from pipeline.types import Message, Record, Stop, Trajectory
from pipeline.views.base import correct, trainable

CALL = pa.struct(
    [
        ("id", pa.string()),
        ("type", pa.string()),
        ("function", pa.struct([("name", pa.string()), ("arguments", pa.string())])),
    ]
)
MESSAGE = pa.struct(
    [
        ("role", pa.string()),
        ("content", pa.string()),
        ("reasoning_content", pa.string()),
        ("tool_calls", pa.list_(CALL)),
        ("tool_call_id", pa.string()),
        ("name", pa.string()),
    ]
)
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("messages", pa.list_(MESSAGE)),
        ("tools", pa.string()),
        ("steps", pa.int32()),
        ("hit_step", pa.int32()),
        ("useful_steps", pa.int32()),
        ("hit_rate", pa.float64()),
        ("efficiency", pa.float64()),
        ("difficulty", pa.int32()),
        ("solve_rate", pa.float64()),
        ("licence", pa.string()),
        ("trainable", pa.bool_()),
        ("run", pa.string()),
    ]
)


def rows(record: Record, environment: Environment) -> Iterator[dict[str, Any]]:
    for rollout, verdict in correct(record):
        if record.draft and fit(rollout.trajectory):
            went = process(record.draft, rollout, verdict)
            yield {
                "id": record.key,
                "messages": [openai_message(message) for message in rollout.trajectory.messages],
                "tools": tools_json(environment.tools),
                "steps": verdict.steps,
                "hit_step": went.hit_step,
                "useful_steps": went.useful_steps,
                "hit_rate": went.hit_rate,
                "efficiency": went.efficiency,
                "difficulty": record.difficulty,
                "solve_rate": record.solve_rate,
                "licence": record.lineage.licence,
                "trainable": trainable(record),
                "run": record.lineage.run,
            }
            return


def fit(trajectory: Trajectory) -> bool:
    """Is it worth imitating: ended on its own with one call of `answer`, without a repeat or a format error?"""
    last = trajectory.messages[-1]
    return (
        trajectory.stop is Stop.ANSWERED
        and trajectory.format_errors == 0
        and not any(call.repeat for call in trajectory.calls)
        and [call.name for call in last.tool_calls] == ["answer"]
    )


def openai_message(message: Message) -> dict[str, Any]:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in message.tool_calls
    ]
    return {
        "role": message.role,
        "content": message.content,
        "reasoning_content": message.reasoning or None,
        "tool_calls": calls or None,
        "tool_call_id": message.tool_call_id or None,
        "name": message.name or None,
    }


def tools_json(tools: tuple[Tool, ...]) -> str:
    """The tools as OpenAI's JSON, keys sorted."""
    functions = [{"type": "function", "function": tool.model_dump()} for tool in tools]
    return orjson.dumps(functions, option=orjson.OPT_SORT_KEYS).decode()
