"""The contract of every model: `complete(request) -> completion`.

OpenAI-compatible servers, the demo model and the scripted model of the tests implement it; cache and ledger wrap
any of them. A request holds all that the answer may depend on and nothing else, so its digest is the cache key.
"""

from enum import StrEnum
from typing import Annotated, Any, Protocol

from pydantic import Field, field_validator

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


Unset = Field(default=None, exclude_if=lambda value: value is None)
"""Of a setting that is newer than the first runs: left out, it changes neither their digests nor the keys of their
answers."""
OURS = (
    "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "response_format", "stream", "n",
    "temperature", "top_p", "top_k", "min_p", "seed", "max_tokens", "max_completion_tokens",
)  # fmt: skip
"""Fields of the wire that are set elsewhere, or that an answer is read by."""


class Sampling(Data):
    temperature: float = 1.0
    """Sampling temperature; the judge is first asked at 0."""
    top_p: float = 0.95
    """Nucleus sampling: the share of the probability that is kept."""
    max_tokens: int = 4096
    """Tokens of one answer at most, its thoughts included."""
    top_k: Annotated[int, Field(ge=-1)] | None = Unset
    """Sample from this many of the likeliest tokens; left out, it is not sent."""
    min_p: Annotated[float, Field(ge=0, le=1)] | None = Unset
    """Least probability of a token, as a share of the likeliest token's; left out, it is not sent."""
    seed: Annotated[int, Field(ge=0)] | None = Unset
    """Random seed in place of the run's; the seed that is sent is derived from it and the number of the rollout."""
    extra_body: dict[str, Any] | None = Unset
    """More fields for every request, such as `{chat_template_kwargs = {enable_thinking = true}}`. They are published
    with the settings, so put no secret here."""

    @field_validator("extra_body")
    @classmethod
    def _extra(cls, given: dict[str, Any] | None) -> dict[str, Any] | None:
        if taken := sorted(set(given or ()) & set(OURS)):
            raise ValueError(f"must not set '{taken[0]}', which other settings decide")
        return given or None


class Request(Data):
    model: str
    messages: tuple[Message, ...]
    tools: tuple[Tool, ...] = ()
    tool_choice: str = "auto"
    """`auto`, `required`, `none`, or the name of the tool that must be called."""
    parallel_calls: bool = True
    """Whether a turn may hold several calls."""
    output: Schema | None = None
    sampling: Sampling = Sampling()
    thoughts: bool = Field(default=False, exclude_if=lambda value: not value)
    """Send the reasoning of earlier turns back."""
    sample: int = 0
    """The index of the rollout or try: constant over the turns and retries of one agent."""


class Completion(Data):
    message: Message
    finish: Finish
    usage: Usage


class LLM(Protocol):
    async def complete(self, request: Request) -> Completion:
        """Answer one request.

        Raises `ProviderError` if the endpoint gave no answer; an unusable answer is not an error.
        """
        ...
