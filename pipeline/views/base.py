"""What every view is, and what all of them share: which records they take and which rollouts stand for one."""

from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol, cast

import pyarrow as pa

from pipeline import registry
from pipeline.agents.environment import Environment
from pipeline.types import Record, Rollout, Status, Verdict

INCLUDES = ("below_target",)
"""What `include` may add to the accepted records."""


class View(Protocol):
    """A module of this package. Its docstring names its consumer and where its rules come from."""

    SCHEMA: pa.Schema

    def rows(self, record: Record, environment: Environment) -> Iterator[dict[str, Any]]:
        """The rows of one record that has been taken: any number, none where the consumer could not use it."""
        ...


class Attempt(NamedTuple):
    rollout: Rollout
    verdict: Verdict


def names() -> list[str]:
    return registry.names("views")


def load(name: str) -> View:
    """The view of that name; UsageError names the known ones."""
    return cast(View, registry.load("views", name))


def taken(record: Record, include: tuple[str, ...] = ()) -> bool:
    """Is it accepted, or of a kind that `include` names, measured on fresh rollouts?"""
    if record.status is Status.ACCEPTED:
        return True
    return record.reason in include and bool(record.confirmation_verdicts)


def trainable(record: Record) -> bool:
    """No, where the embedded model took part: such rows show that the loop works and teach nothing."""
    return not record.lineage.embedded


def correct(record: Record) -> list[Attempt]:
    """The correct rollouts of the final question, shortest first: of its own round and of its confirmation."""
    last = record.last
    if last is None:
        return []
    rollouts = (*record.confirmation, *last.rollouts)
    verdicts = (*record.confirmation_verdicts, *last.verdicts)
    attempts = [Attempt(r, v) for r, v in zip(rollouts, verdicts, strict=True) if v.correct]
    return sorted(attempts, key=lambda attempt: (attempt.verdict.steps, attempt.verdict.calls, attempt.verdict.sample))
