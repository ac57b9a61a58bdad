"""`sft_sharegpt`: the rollouts of `sft` in ShareGPT's form, for LLaMA-Factory.

Rules: LLaMA-Factory 0.9.5, `data/converter.py` (odd turns human or observation, even turns function_call, or the row
is skipped) and `data/formatter.py` (a function call is JSON, thoughts in think tags before it, other words around
tool_call tags; parallel calls are a list, their observations are joined as its own OpenAI converter joins them).
Where a trajectory is a row for each turn (see `sft`), train with `mask_history: true`: the last turn alone is learnt.
`dataset_dir` is `code/` of the data set and `dataset` `digsite` or `digsite_eval`, as `dataset_info.json` has them.
"""

from functools import partial
from itertools import groupby
from typing import Any

import orjson

from pipeline.agents.environment_file import Environment
from pipeline.exports.trajectories import chat
from pipeline.exports.trajectories.selection import TrainingExample, examples, said
from pipeline.exports.views.base import PROVENANCE, Rows, ViewOptions, conversations, provenance
from pipeline.store.arrow import columns
from pipeline.types import Message, Record

TURN = {"from": str, "value": str}
SCHEMA = columns(conversations=[TURN], system=str, tools=str, agent=str, resisted=bool, **PROVENANCE)
_COLUMNS = {"messages": "conversations", "system": "system", "tools": "tools"}
_TAGS = ("<think>", "</think>", "<tool_call>", "</tool_call>")


def _entry(split: str) -> dict[str, Any]:
    # Its "script" is a folder that `load_dataset` opens: the data set's own, whose card knows views and splits.
    return {
        "script_url": "..", "subset": "sft_sharegpt", "split": split, "formatting": "sharegpt", "columns": _COLUMNS
    }  # fmt: skip


_DATASETS = {"digsite": _entry("train"), "digsite_eval": _entry("eval")}
OPTIONS = ViewOptions(
    extra_files={"dataset_info.json": orjson.dumps(_DATASETS).decode()}, needs="a solved rollout that [sft] takes"
)


def rows(record: Record, environment: Environment) -> Rows:
    system, tools = environment.prompt, environment.offered
    for example, written in examples(record, environment, partial(_conversations, environment)):
        for turns in written:
            yield {
                "conversations": turns,
                "system": system,
                "tools": tools,
                "agent": example.agent,
                "resisted": example.resisted,
                **provenance(record, [system, tools, *(turn["value"] for turn in turns)], measured=example.measured),
            }


def _conversations(environment: Environment, example: TrainingExample) -> list[list[dict[str, str]]] | None:
    """What follows the system prompt, of each row; none where it cannot be read."""
    messages = example.rollout.trajectory.messages
    if not said(example) or any(map(_tagged, messages)):
        return None
    return [_turns(row[1:]) for row, _ in conversations(messages, environment, example.agent)]


def _turns(messages: tuple[Message, ...]) -> list[dict[str, str]]:
    """Neighbours of one role as one turn."""
    return [_turn(role, list(group)) for role, group in groupby(messages, key=lambda message: message.role)]


def _tagged(message: Message) -> bool:
    """Has a model written one of the marks that the formatter looks for?"""
    return message.role == "assistant" and any(tag in message.content + message.reasoning for tag in _TAGS)


def _turn(role: str, group: list[Message]) -> dict[str, str]:
    if role != "assistant":
        # Told in words, observations come from the user, and have their tags.
        between = "\n" if role == "user" else "\n</tool_response>\n<tool_response>\n"
        text = between.join(message.content for message in group)
        return {"from": "human" if role == "user" else "observation", "value": text}
    thought = "".join(f"<think>\n{m.reasoning}\n</think>\n\n" for m in group if m.reasoning)
    words = "".join(m.content for m in group)
    calls = [{"name": c.name, "arguments": chat.arguments(c)} for message in group for c in message.tool_calls]
    if not calls:
        # The model was told of the tools in words.
        return {"from": "gpt", "value": thought + words}
    said = orjson.dumps(calls[0] if len(calls) == 1 else calls).decode()
    return {
        "from": "function_call",
        "value": f"{thought}{words}<tool_call>{said}</tool_call>" if words else thought + said,
    }
