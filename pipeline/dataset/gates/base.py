"""What every gate is: a pure function of one record. What was let through before is remembered for it, not by it.

A gate either drops a record outright or says what it bears: *marks*, and how many pairs may bear one. Shares are of the
pairs let through so far, this one included, so that every prefix of a data set keeps them and a larger run only adds.
"""

from typing import NamedTuple, Protocol

from pipeline.config.gates import GateConfig
from pipeline.types import Draft, Record


class GateResult(NamedTuple):
    """One thing that a gate says of a record."""

    drop: str = ""
    """Why it may not pass, in a few words; empty where it may."""
    marks: tuple[str, ...] = ()
    most: int = 1
    """So many pairs may bear one of the marks, whatever their share is ..."""
    share: float = 0.0
    """... and so large a share of all."""
    full: str = ""
    """Why it may not pass where one of the marks is borne by as many as may."""


class Gate(Protocol):
    """A module of this package. The first line of its docstring says what it drops, for card and report.

    It may also have `ready(settings)`, which raises UsageError where it cannot work with them.
    """

    def check(self, draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
        """Nothing, where the gate does not mind. `draft` is the record's last. Pure: neither order nor time matters."""
        ...
