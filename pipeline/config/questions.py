"""Which questions are made."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from pipeline.config.roles import Models
from pipeline.errors import unknown
from pipeline.operations import operations
from pipeline.types import Data

MOST_EXAMPLES = 5
"""Questions of somebody whose style a writer is shown."""


def offered_by_default() -> tuple[str, ...]:
    return tuple(name for name, operation in operations().items() if operation.is_offered)


def _each_once(given: Any) -> Any:
    """Return the names in `"list,ratio"` or `["list", "ratio"]`. Raises ValueError for an unknown one."""
    named = [part.strip() for part in given.split(",")] if isinstance(given, str) else given
    if not isinstance(named, list | tuple):
        return named
    if wrong := [name for name in named if name not in operations()]:
        raise ValueError(str(unknown("operation", str(wrong[0]), operations())))
    return tuple(sorted(dict.fromkeys(named)))


Operations = Annotated[tuple[str, ...], BeforeValidator(_each_once)]


class QuestionsConfig(Data):
    """`[questions]`."""

    unanswerable: float = Field(0.0, ge=0, le=1)
    """Share of the accepted pairs that get an unanswerable twin: the same question with one premise changed. 0 turns
    the stage off."""
    tries: int = Field(3, ge=1, le=16)
    """Most changed premises that are tried for one pair, until one passes all checks; the writer sees why the
    earlier ones were refused."""

    like: tuple[Annotated[str, Field(min_length=1, max_length=1000)], ...] = Field((), max_length=MOST_EXAMPLES)
    """Up to five questions whose style the writer of the strategy `compose` follows. `--like FILE` sets them."""
    file: str = ""
    """Questions that somebody brings to have them made harder, in place of seeds from passages: a path, or
    `hf:ORG/NAME`. `digsite harden` sets it. Not digested; what stands there is."""
    sha256: str = ""
    """Digest of the questions of `file`, which `digsite harden` sets."""

    def twins(self, models: Models) -> float:
        """The share that these models make: none where one of them answers whatever it is asked."""
        able = all(models.of(role).capabilities.understands for role in ("writer", "reader", "solver"))
        return self.unanswerable if able else 0.0
