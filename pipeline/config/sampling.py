"""The settings of how a model's answers are sampled."""

from typing import Annotated, Any

from pydantic import Field, field_validator

from pipeline.types import Data

OURS = (
    "model", "messages", "tools", "tool_choice", "parallel_tool_calls", "response_format", "stream", "n",
    "temperature", "top_p", "top_k", "min_p", "seed", "max_tokens", "max_completion_tokens",
)  # fmt: skip
"""Fields of a request that other settings decide, or on which the parsing of answers depends."""


class Sampling(Data):
    temperature: float = 1.0
    """Sampling temperature. The judge's first answer is sampled at 0."""
    top_p: float = 0.95
    """Nucleus sampling: share of the probability mass to sample from."""
    max_tokens: int = 4096
    """Largest number of tokens of one answer, including its reasoning."""
    top_k: Annotated[int, Field(ge=-1)] | None = None
    """Sample from this many of the likeliest tokens. If left out, it is not sent."""
    min_p: Annotated[float, Field(ge=0, le=1)] | None = None
    """Lowest probability of a token, as a share of the likeliest token's. If left out, it is not sent."""
    seed: Annotated[int, Field(ge=0)] | None = None
    """Random seed instead of the run's. Each request gets a seed derived from it and from the number of the rollout."""
    extra_body: dict[str, Any] | None = None
    """Additional fields of every request, such as `{chat_template_kwargs = {enable_thinking = true}}`. They are
    published with the settings, so put no secret here."""

    @field_validator("extra_body")
    @classmethod
    def _check_extra_body(cls, fields: dict[str, Any] | None) -> dict[str, Any] | None:
        if reserved := sorted(set(fields or ()) & set(OURS)):
            raise ValueError(f"must not set '{reserved[0]}', which other settings decide")
        return fields or None
