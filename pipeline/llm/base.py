"""The contract of every model: `complete(request) -> completion`.

OpenAI-compatible servers, the demo model and the scripted model of the tests implement it. Cache and ledger wrap any of
them. A request holds everything that the answer may depend on and nothing else, so that its digest is the cache key.
"""

from enum import StrEnum
from typing import Any, Protocol

from pydantic import Field

from pipeline.config.models import Sampling, ToolMode
from pipeline.types import Data, Message, Usage


class Finish(StrEnum):
    STOP = "stop"
    TOOL_CALLS = "tool_calls"
    LENGTH = "length"
    CONTENT_FILTER = "content_filter"
    EMPTY = "empty"
    """Reasoning without text or a call: some servers put the answer into the reasoning."""
    REPEATS = "repeats"
    """The model repeated one passage, or white space, up to its token limit; the message holds it once."""
    CONTEXT = "context"
    """The request did not fit the model's context; the message is empty."""


UNFINISHED = frozenset({Finish.LENGTH, Finish.REPEATS, Finish.CONTENT_FILTER, Finish.EMPTY, Finish.CONTEXT})
"""These answers are not cached, since another attempt may do better."""


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
    """How the prompt presents the tools, and the form in which the model must write a call."""
    parallel_calls: bool = True
    """Whether a turn may contain several calls."""
    output: Schema | None = None
    sampling: Sampling = Sampling()
    thoughts: bool = False
    """Whether the reasoning of earlier turns is sent back."""
    sample: int = 0
    """The index of the rollout or sample, which is constant over the turns and retries of one agent."""
    shared_prefix: float = Field(0.0, ge=0, le=1, exclude=True)
    """The share of the prompt that is a prefix of the previous request too, to estimate the cached tokens of servers
    that report none. No answer depends on it, so it is not part of the digest."""


class Completion(Data):
    message: Message
    finish: Finish
    usage: Usage


class LLM(Protocol):
    async def complete(self, request: Request) -> Completion:
        """Answer one request.

        Raises `ProviderError` if the endpoint gave no answer, and `RequestRefused` if it refuses only this request. An
        unusable answer is not an error.
        """
        ...
