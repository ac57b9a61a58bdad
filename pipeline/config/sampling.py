"""How a model's answers are sampled."""

from typing import Annotated, Any

from pydantic import Field, field_validator

from pipeline.types import Data

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
    top_k: Annotated[int, Field(ge=-1)] | None = None
    """Sample from this many of the likeliest tokens; left out, it is not sent."""
    min_p: Annotated[float, Field(ge=0, le=1)] | None = None
    """Least probability of a token, as a share of the likeliest token's; left out, it is not sent."""
    seed: Annotated[int, Field(ge=0)] | None = None
    """Random seed in place of the run's; the seed that is sent is derived from it and the number of the rollout."""
    extra_body: dict[str, Any] | None = None
    """More fields for every request, such as `{chat_template_kwargs = {enable_thinking = true}}`. They are published
    with the settings, so put no secret here."""

    @field_validator("extra_body")
    @classmethod
    def _extra(cls, given: dict[str, Any] | None) -> dict[str, Any] | None:
        if taken := sorted(set(given or ()) & set(OURS)):
            raise ValueError(f"must not set '{taken[0]}', which other settings decide")
        return given or None
