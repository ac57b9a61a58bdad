"""Trajectories made fit to imitate, as DR-Venus does it (arXiv 2604.19859, `SFT/data_clean/prepare_trajectories.py`).

A turn all of whose calls were made before is taken out with its observations. What is left must have the form that a
trained model is to speak: a system prompt and a question, then calls and their observations in turn, and at the end the
one call of `answer`.
"""

from collections.abc import Sequence
from typing import NamedTuple

import orjson

from pipeline.types import Message, ToolCall, Trajectory


class Cleaned(NamedTuple):
    """`why` is empty where the messages are fit; `edited` where a turn was taken out, which no agent has ever seen."""

    messages: tuple[Message, ...]
    why: str = ""
    edited: bool = False


def clean(trajectory: Trajectory) -> Cleaned:
    """The messages without repeated turns, and what is wrong with their form."""
    known = set[tuple[str, bytes]]()
    kept: list[Message] = []
    gone = set[str]()
    for message in trajectory.messages:
        if calls := message.tool_calls:
            signatures = set(map(_signature, calls))
            if signatures <= known:
                gone |= {call.id for call in calls}
                continue
            known |= signatures
        if not gone or message.role != "tool" or message.tool_call_id not in gone:
            kept.append(message)
    return Cleaned(tuple(kept), malformed(kept), edited=bool(gone))


def _signature(call: ToolCall) -> tuple[str, bytes]:
    """A call as its repeat would read, whatever the order of its arguments."""
    try:
        return call.name, orjson.dumps(orjson.loads(call.arguments), option=orjson.OPT_SORT_KEYS)
    except orjson.JSONDecodeError:
        return call.name, call.arguments.encode(errors="surrogatepass")


def weight(turns: int) -> int:
    """How often a trajectory of so many turns is to be shown: up to 50 once, up to 100 twice, longer ones five times,
    as DR-Venus resamples them, since long ones are rare. Weigh within a split; copies across splits would leak."""
    return 1 if turns <= 50 else 2 if turns <= 100 else 5


def malformed(messages: Sequence[Message]) -> str:
    """What keeps them from the form that a trained model is to speak; empty where nothing does."""
    if [message.role for message in messages[:2]] != ["system", "user"]:
        return "it does not begin with a system prompt and a question"
    waiting: list[str] = []
    called: list[str] = []
    for message in messages[2:]:
        role = message.role
        if role == "tool":
            if message.tool_call_id not in waiting:
                return "an observation answers no call"
            waiting.remove(message.tool_call_id)
        elif role != "assistant" or waiting:
            return "a call has no observation" if waiting else f"a {role} speaks in between"
        else:
            if not message.tool_calls:
                return "a turn makes no call"
            for call in message.tool_calls:
                waiting.append(call.id)
                called.append(call.name)
    if [call.name for call in messages[-1].tool_calls] != ["answer"]:
        return "it does not end with an answer"
    return "it answers before its end" if "answer" in called[:-1] else ""
