"""The demo model with the contract of all models: the last tool or the schema of a request determines its role."""

from collections.abc import Callable
from functools import lru_cache

from pipeline.demo import author, chain_solver, graph_wording, reader
from pipeline.demo.verdicts import judge
from pipeline.demo.writer import write
from pipeline.llm.base import Completion, Finish, Request
from pipeline.llm.token_usage import estimate_cached
from pipeline.text import words
from pipeline.types import Message, Usage

ROLES: dict[str, Callable[[Request], Message]] = {
    "propose": author.propose,
    "explore": author.explore,
    "compose": author.compose,
    "revise": author.revise,
    "answer": chain_solver.solve,
    "verdict": judge,
    "read": chain_solver.read_evidence,
    "write": write,
    "wordings": graph_wording.word,
    "weigh": chain_solver.weigh,
    "steps": reader.check_steps,
    "detect": reader.detect,
    "choose": reader.choose,
    "alter": reader.alter,
}


class DemoModel:
    """Rules and lexical statistics: a pure function of the request. Its usage counts words instead of tokens."""

    async def complete(self, request: Request) -> Completion:
        """Answer a request. Raises ValueError for a role without rules."""
        role = request.output.name if request.output else request.tools[-1].name if request.tools else ""
        if role not in ROLES:
            raise ValueError(f"the demo model has no rules for '{role}'")
        message = ROLES[role](request)
        usage = Usage(calls=1, prompt_tokens=sum(map(_size, request.messages)), completion_tokens=_size(message))
        return Completion(
            message=message,
            finish=Finish.TOOL_CALLS if message.tool_calls else Finish.STOP,
            # Estimate as for a server that reports no cached tokens, so that a served demo model counts the same.
            usage=estimate_cached(usage, request.shared_prefix),
        )


@lru_cache(maxsize=8192)
def _count(text: str) -> int:
    return len(words(text))


def _size(message: Message) -> int:
    return _count(message.content) + sum(_count(call.arguments) for call in message.tool_calls)
