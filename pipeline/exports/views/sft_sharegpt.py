"""`sft_sharegpt`: the rollouts of `sft` in ShareGPT's form, for LLaMA-Factory.

Rules: LLaMA-Factory 0.9.5, `data/converter.py` (odd turns are human or observation, even turns function_call, or the
row is skipped) and `data/formatter.py` (a function call is JSON, with thoughts in think tags before it; with other
words around it, it is in tool_call tags; parallel calls are a list, and their observations are joined as in its OpenAI
converter). If each turn of a trajectory is a row (see `sft`), train with `mask_history: true`, so that only the last
turn is learnt. Set `dataset_dir` to `code/` of the data set and `dataset` to `digsite` or `digsite_eval`, as in
`dataset_info.json`.
"""

from functools import partial
from itertools import groupby

import orjson

from pipeline.agents.environment_file import Environment
from pipeline.exports.trajectories import chat
from pipeline.exports.trajectories.selection import TrainingExample, dump_conversation, examples
from pipeline.exports.views.base import PROVENANCE, SOLVED, Rows, View, provenance, split_conversation
from pipeline.store.arrow import columns
from pipeline.types import Message, Record

TURN = {"from": str, "value": str}
SCHEMA = columns(conversations=[TURN], system=str, tools=str, agent=str, resisted=bool, **PROVENANCE)
_TAGS = ("<think>", "</think>", "<tool_call>", "</tool_call>")
# The "script" is a folder that `load_dataset` opens: that of the data set, whose card names views and splits.
_DATASETS = {
    name: {
        "script_url": "..", "subset": "sft_sharegpt", "split": split, "formatting": "sharegpt",
        "columns": {"messages": "conversations", "system": "system", "tools": "tools"},
    }
    for name, split in (("digsite", "train"), ("digsite_eval", "eval"))
}  # fmt: skip


def rows(record: Record, environment: Environment) -> Rows:
    system, tools = environment.prompt, environment.offered
    for example, conversations in examples(record, environment, partial(_convert, environment)):
        for turns in conversations:
            yield {
                "conversations": turns,
                "system": system,
                "tools": tools,
                "agent": example.agent,
                "resisted": example.resisted,
                **provenance(record, [system, tools, *(turn["value"] for turn in turns)], measured=example.measured),
            }


def _convert(environment: Environment, example: TrainingExample) -> list[list[dict[str, str]]] | None:
    """Return the conversation of each row without the system prompt, or None if a formatter would misread it."""
    messages = example.rollout.trajectory.messages
    if not dump_conversation(example) or any(map(_has_tag, messages)):
        return None
    return [_merge_turns(row[1:]) for row, _ in split_conversation(messages, environment, example.agent)]


def _merge_turns(messages: tuple[Message, ...]) -> list[dict[str, str]]:
    return [_turn(role, list(group)) for role, group in groupby(messages, key=lambda message: message.role)]


def _has_tag(message: Message) -> bool:
    return message.role == "assistant" and any(tag in message.content + message.reasoning for tag in _TAGS)


def _turn(role: str, group: list[Message]) -> dict[str, str]:
    if role != "assistant":
        # If the model was told about the tools in words, observations are one message of the user, with tags.
        text = "\n</tool_response>\n<tool_response>\n".join(message.content for message in group)
        return {"from": "human" if role == "user" else "observation", "value": text}
    thought = "".join(f"<think>\n{m.reasoning}\n</think>\n\n" for m in group if m.reasoning)
    words = "".join(m.content for m in group)
    calls = [{"name": c.name, "arguments": chat.arguments(c)} for message in group for c in message.tool_calls]
    if not calls:
        # The model was told about the tools in words.
        return {"from": "gpt", "value": thought + words}
    json = orjson.dumps(calls[0] if len(calls) == 1 else calls).decode()
    text = f"{words}<tool_call>{json}</tool_call>" if words else json
    return {"from": "function_call", "value": thought + text}


VIEW = View(rows, SCHEMA, SOLVED._replace(extra_files={"dataset_info.json": orjson.dumps(_DATASETS).decode()}))
