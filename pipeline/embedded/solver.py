"""The demo solver: rules that search, read and answer as a model with tools would, from the bare question alone.

A turn replays the whole conversation: it takes the results of earlier searches from the messages and reasons again from
the start, until it needs a search that was not made; that search is the turn's call. So the solver is a pure function
of its messages, and its reasoning is written as straight code. It was tuned on one half of the gold questions only.
"""

import json
import random
from functools import cache
from pathlib import Path

from pipeline.embedded.observed import Seen, seen
from pipeline.embedded.solver_mind import Mind, Unasked
from pipeline.embedded.solver_steps import pursue
from pipeline.llm.base import Request
from pipeline.text import words
from pipeline.types import Message, ToolCall, sha256

UNKNOWN = "unknown"
"""The answer where nothing that was found could be one."""


@cache
def digest() -> str:
    """The hash of all code and words that the solver's answers depend on; every figure made with it carries this."""
    here = Path(__file__).parent
    return sha256(
        "".join(
            p.read_text(encoding="utf-8")
            for p in [*sorted(here.glob("solver*")), here / "observed.py", here.parent / "text.py"]
        )
    )


def solve(request: Request) -> Message:
    """One assistant message with one tool call: `search`, or `answer` when it is done or the request demands it."""
    question, memory = recall(request.messages)
    mind = Mind(
        memory,
        random.Random(sha256(f"{question}\n{request.sample}")),
        request.sampling.temperature,
        forced=request.tool_choice == "answer",
    )
    number = sum(message.role == "assistant" for message in request.messages)
    try:
        answer = pursue(question, mind)
        return _call("answer", number, answer=answer or UNKNOWN)
    except Unasked as wanted:
        return _call("search", number, query=wanted.query)


def _call(name: str, number: int, **arguments: str) -> Message:
    call = ToolCall(id=f"call_{number}", name=name, arguments=json.dumps(arguments, ensure_ascii=False))
    return Message(role="assistant", tool_calls=(call,))


def recall(messages: tuple[Message, ...]) -> tuple[str, dict[str, tuple[Seen, ...]]]:
    """The question, and what every search so far returned, by the words of its query."""
    question = ""
    asked: dict[str, str] = {}
    memory: dict[str, tuple[Seen, ...]] = {}
    for message in messages:
        if message.role == "user" and not asked:
            question = message.content.strip()
        for call in message.tool_calls:
            asked[call.id] = _query(call.arguments)
        if message.role == "tool" and (query := asked.get(message.tool_call_id)):
            memory[query] = tuple(seen(message.content))
    return question, memory


def _query(arguments: str) -> str:
    try:
        query = json.loads(arguments)["query"]
    except (ValueError, KeyError, TypeError):
        return ""
    return " ".join(words(str(query)))
