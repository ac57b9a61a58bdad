"""The demo generator: reads a seed passage, searches for names that it mentions, and asks about the last one.

Each turn it reads all messages again and either searches on, or tries its best question with the searches that a solver
would make, or proposes it. It keeps nothing between turns but the messages.
"""

import random
from collections.abc import Iterable
from typing import Any

import orjson

from pipeline import prompts
from pipeline.embedded.generator_walk import Goal, Walk
from pipeline.embedded.observed import Seen, seen
from pipeline.llm.base import Request
from pipeline.text import trimmed
from pipeline.types import Message, ToolCall, sha256


def propose(request: Request) -> Message:
    """The generator's next turn."""
    inputs = read_inputs(request)
    goal = Goal(inputs["target_steps"], inputs["answer_types"], inputs["search_budget"])
    first = shown(inputs["passage"])
    found = searched(request.messages, [first])
    walk = Walk(goal, [first], found, chance(request, inputs), turns=turns(request.messages))
    queries = [] if request.tool_choice == "propose" else walk.next_queries()
    if queries:
        return searches(request, queries)
    chain = walk.best()
    return final(request, walk.arguments(chain) if chain else nothing(goal.type))


def nothing(answer_type: str) -> dict[str, object]:
    return {"question": "", "answer": "", "answer_type": answer_type, "hops": []}


def read_inputs(request: Request) -> dict[str, Any]:
    return next(found for message in request.messages if (found := prompts.unfence(message.content)) is not None)


def chance(request: Request, inputs: dict[str, Any]) -> random.Random:
    """The same for all turns of one agent."""
    return random.Random(sha256(f"{orjson.dumps(inputs, option=orjson.OPT_SORT_KEYS).decode()}:{request.sample}"))


def shown(passage: dict[str, str]) -> Seen:
    """A passage of the inputs, as an observation would show it."""
    return Seen(passage["id"], " ".join(passage["title"].split()), trimmed(passage["text"]))


def searched(messages: Iterable[Message], given: Iterable[Seen]) -> dict[str, list[Seen]]:
    """The passages that each query brought, in order; `given` are those of the inputs."""
    before = {passage.id: passage for passage in given}
    asked: dict[str, str] = {}
    found: dict[str, list[Seen]] = {}
    for message in messages:
        for call in message.tool_calls:
            if call.name == "search":
                asked[call.id] = orjson.loads(call.arguments)["query"]
        if message.role == "tool" and message.tool_call_id in asked:
            found[asked[message.tool_call_id]] = shown_now = seen(message.content, before)
            before |= {passage.id: passage for passage in shown_now}
    return found


def turns(messages: Iterable[Message]) -> int:
    """How often the agent has spoken."""
    return sum(message.role == "assistant" for message in messages)


def searches(request: Request, queries: list[str]) -> Message:
    calls = [_call(request, place, "search", {"query": query}) for place, query in enumerate(queries)]
    return Message(role="assistant", tool_calls=tuple(calls))


def final(request: Request, arguments: dict[str, object]) -> Message:
    """The call of the last tool, which ends the agent's work."""
    return Message(role="assistant", tool_calls=(_call(request, 0, request.tools[-1].name, arguments),))


def _call(request: Request, place: int, tool: str, arguments: dict[str, object]) -> ToolCall:
    return ToolCall(id=f"call-{len(request.messages)}-{place}", name=tool, arguments=orjson.dumps(arguments).decode())
