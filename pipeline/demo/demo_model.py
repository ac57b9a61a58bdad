"""The demo model behind the contract of any model: a request's last tool, or its schema, says which role answers."""

from functools import cache, lru_cache
from importlib import import_module

from pipeline.llm.base import Completion, Finish, Request
from pipeline.text import words
from pipeline.types import Message, Usage

# role → module and function; loaded when first asked.
_ROLES = {
    "propose": ("author", "propose"),
    "explore": ("author", "explore"),
    "compose": ("author", "compose"),
    "revise": ("author", "revise"),
    "answer": ("chain_solver", "solve"),
    "verdict": ("verdicts", "judge"),
    "read": ("chain_solver", "read"),
    "trace": ("chain_solver", "trace"),
    "write": ("writer", "write"),
    "weigh": ("chain_solver", "weigh"),
    "grade": ("reader", "grade"),
    "detect": ("reader", "detect"),
    "skip": ("reader", "skip"),
    "commit": ("chain_solver", "commit"),
}


class DemoModel:
    """Rules and lexical statistics; a pure function of the request. Usage counts words, as a tokenizer would tokens."""

    async def complete(self, request: Request) -> Completion:
        """Raises ValueError for a role that it has no rules for."""
        role = request.output.name if request.output else request.tools[-1].name if request.tools else ""
        message: Message = _rules(role)(request)
        return Completion(
            message=message,
            finish=Finish.TOOL_CALLS if message.tool_calls else Finish.STOP,
            usage=Usage(
                calls=1,
                prompt_tokens=sum(map(_size, request.messages)),
                completion_tokens=_size(message),
            ),
        )


@cache
def _rules(role: str):  # type: ignore[no-untyped-def]
    if role not in _ROLES:
        raise ValueError(f"the demo model has no rules for '{role}'")
    module, function = _ROLES[role]
    return getattr(import_module(f"pipeline.demo.{module}"), function)


@lru_cache(maxsize=8192)
def _count(text: str) -> int:
    return len(words(text))


def _size(message: Message) -> int:
    return _count(message.content) + sum(_count(call.arguments) for call in message.tool_calls)
