"""The settings of the questions that are made."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field

from pipeline.config.roles import Models
from pipeline.errors import unknown
from pipeline.operations import operations
from pipeline.types import Data

MOST_EXAMPLES = 5
"""Largest number of example questions that the writer sees."""


def default_operations() -> tuple[str, ...]:
    return tuple(name for name, operation in operations().items() if operation.is_offered)


def _parse_operations(value: Any) -> Any:
    """Return the sorted names in `"list,ratio"` or `["list", "ratio"]`. Raise ValueError for an unknown one."""
    names = [part.strip() for part in value.split(",")] if isinstance(value, str) else value
    if not isinstance(names, list | tuple):
        return names
    if wrong := [name for name in names if name not in operations()]:
        raise ValueError(str(unknown("operation", str(wrong[0]), operations())))
    return tuple(sorted(dict.fromkeys(names)))


Operations = Annotated[tuple[str, ...], BeforeValidator(_parse_operations)]


class QuestionsConfig(Data):
    """`[questions]`: unanswerable twins, examples of style, and questions to harden."""

    unanswerable: float = Field(0.0, ge=0, le=1)
    """Share of the accepted pairs that get an unanswerable twin: the same question with one changed premise. 0 turns
    this off."""
    tries: int = Field(3, ge=1, le=16)
    """Largest number of changed premises to try for one pair until one passes all checks. The writer sees why the
    earlier ones were refused."""

    like: tuple[Annotated[str, Field(min_length=1, max_length=1000)], ...] = Field((), max_length=MOST_EXAMPLES)
    """Up to five questions whose style the writer of the strategy `compose` imitates. `--like FILE` sets them."""
    file: str = ""
    """Your own questions to make harder, instead of seeds from passages: a path, or `hf:ORG/NAME`. `digsite harden`
    sets it. The content is part of the digest, not the path."""
    sha256: str = ""
    """Digest of the questions in `file`. `digsite harden` sets it."""

    def twins(self, models: Models) -> float:
        """Return the share of pairs with a twin; 0 with the demo model, which cannot tell that a premise is false."""
        can_refuse = all(models.of(role).capabilities.understands for role in ("writer", "reader", "solver"))
        return self.unanswerable if can_refuse else 0.0
