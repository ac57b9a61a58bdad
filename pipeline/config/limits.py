"""The settings that limit an agent and the size of its requests."""

from pydantic import Field

from pipeline.types import Data


class AgentLimits(Data):
    """The limits of one agent. Each of them has its own `Stop`."""

    searches: int = Field(ge=0)
    """Largest number of searches, finds and opened documents of one agent, including repeats. Then it must answer. If
    left out, the solver's is 2N + 4 for a target of up to N steps, but at least 12; its turns and tokens grow with it,
    and so do the generator's searches, turns, tokens, calls per turn and request size."""
    turns: int = Field(ge=1)
    """Largest number of turns of the model in one conversation."""
    tokens: int = Field(200_000, ge=1)
    """Largest number of prompt and completion tokens over all turns."""
    calls_per_turn: int = Field(8, ge=1)
    """Number of tool calls that are run in one turn. Further ones get an error."""
    format_errors: int = Field(3, ge=1)
    """Number of unreadable answers in a row after which the agent stops."""


class AuthorLimits(AgentLimits):
    """The limits of generator, refiner and composer."""

    checks: int = Field(6, ge=0)
    """Number of drafts that a generator or refiner may have checked before it ends. These do not count as searches. A
    check runs all checks of the round, including those by readers, and the round reuses its result if the draft is
    unchanged."""
    give_up_tokens: int = Field(40_000, ge=1)
    """Number of prompt tokens, without those that the server had cached, after which a conversation without a proposal
    is ended. It grows with the searches."""
    request_tokens: int = Field(24_000, ge=4096)
    """Largest request in tokens, even if the model's context allows more. Passages are cut to fit, the oldest first,
    and those that look like evidence last."""
