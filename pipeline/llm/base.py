"""The contract of every model: `complete(request) -> completion`.

OpenAI-compatible servers, the demo model and the scripted model of the tests implement it; cache and ledger wrap
any of them. A request holds all that the answer may depend on and nothing else, so its digest is the cache key.
"""

from enum import StrEnum
from typing import Any, Protocol

from pydantic import Field

from pipeline.config.models import ToolMode
from pipeline.config.sampling import Sampling
from pipeline.types import Data, Message, Usage


class Finish(StrEnum):
    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    EMPTY = "empty"
    """Reasoning, and then neither text nor a call: some servers put the answer into the reasoning."""
    REPEATS = "repeats"
    """It said one thing again and again, or only white space, until its tokens ended; the message holds it once."""
    CONTEXT = "context"
    """The request did not fit the model's context; the message is empty."""


UNFINISHED = frozenset({Finish.LENGTH, Finish.REPEATS, Finish.CONTENT_FILTER, Finish.EMPTY, Finish.CONTEXT})
"""Another try may do better; such an answer is not cached."""


class Tool(Data):
    name: str
    description: str
    parameters: dict[str, Any]
    """The JSON schema of the arguments: an object that allows no other properties."""


class Schema(Data):
    """The schema of a structured output, with a name."""

    name: str
    body: dict[str, Any]


class Request(Data):
    model: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    """`auto`, `required`, `none`, or the name of the tool that must be called."""
    calls: ToolMode = "native"
    """How the model is told of the tools, and in which form it is asked for a call."""
    parallel_calls: bool = True
    """Whether a turn may hold several calls."""
    output: Schema | None = None
    sampling: Sampling = Sampling()
    thoughts: bool = False
    """Send the reasoning of earlier turns back."""
    sample: int = 0
    """The index of the rollout or try: constant over the turns and retries of one agent."""
    shared_prefix: float = Field(0.0, ge=0, le=1, exclude=True)
    """The share of the prompt that the previous request of the conversation begins with too. It estimates the cached
    tokens of servers that report none. No answer depends on it, so it is no part of the digest."""


class Completion(Data):
    message: Message
    finish: Finish
    usage: Usage


class LLM(Protocol):
    async def complete(self, request: Request) -> Completion:
        """Answer one request.

        Raises `ProviderError` if the endpoint gave no answer, and `RequestRefused` if it refuses this request alone;
        an unusable answer is not an error.
        """
        ...
