"""What ends an agent, and how large its requests may become."""

from pydantic import Field

from pipeline.types import Data


class AgentLimits(Data):
    """What ends one agent. Each limit has its own `Stop`."""

    searches: int = Field(ge=0)
    """Searches and opens, repeats included; then one forced last call."""
    turns: int = Field(ge=1)
    """Answers of the model in one conversation."""
    tokens: int = Field(200_000, ge=1)
    """Prompt and completion tokens over all turns."""
    calls_per_turn: int = Field(8, ge=1)
    """Tool calls of one turn that are carried out; the others are answered with an error."""
    format_errors: int = Field(3, ge=1)
    """Answers in a row that cannot be read, after which the agent ends."""


class AuthorLimits(AgentLimits):
    """Of generator, refiner and composer."""

    checks: int = Field(6, ge=0)
    """Drafts that one of them may have checked before it ends; they are no searches. A reader is asked two things
    of each, as far as `checks.run` holds them, which the audit then has from the cache."""
    request_tokens: int = Field(24_000, ge=4096)
    """Largest request, where its model's context would allow more: before it, the oldest search results are cut."""
