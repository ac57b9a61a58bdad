"""What ends an agent, and how large its requests may become."""

from pydantic import Field

from pipeline.types import Data


class AgentLimits(Data):
    """What ends one agent. Each limit has its own `Stop`."""

    searches: int = Field(ge=0)
    """Most searches, finds and opened documents of one agent, repeats included; after them it must answer. Left out,
    the solver's are 2N + 4 for a target of up to N steps, and 12 at least. Its turns and tokens follow them, and so do
    the generator's searches, turns, tokens, calls in a turn and size of requests, in proportion."""
    turns: int = Field(ge=1)
    """Most turns of the model in one conversation."""
    tokens: int = Field(200_000, ge=1)
    """Most prompt and completion tokens over all turns."""
    calls_per_turn: int = Field(8, ge=1)
    """Most tool calls of one turn that are carried out; the others get an error."""
    format_errors: int = Field(3, ge=1)
    """Unreadable answers in a row after which the agent stops."""


class AuthorLimits(AgentLimits):
    """Of generator, refiner and composer."""

    checks: int = Field(6, ge=0)
    """Most drafts that a generator or refiner may have checked before it ends; they do not count as searches. A check
    asks all that the round asks, readers included, and the round takes its answer for a draft that stays as it was."""
    give_up_tokens: int = Field(40_000, ge=1)
    """Prompt tokens after which a conversation that has proposed nothing yet is ended, as one that will not pay: those
    that the server computed, without those that it had cached. It grows with the searches."""
    request_tokens: int = Field(24_000, ge=4096)
    """Largest request in tokens, even if the model's context would allow more; passages are cut to fit, the oldest
    first and those that look like evidence last."""
