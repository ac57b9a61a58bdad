"""What a check by a model gives."""

from collections.abc import Awaitable, Callable

from pipeline.context import RunContext
from pipeline.types import Data, Draft, Finding, Probe


class CheckResult(Data):
    """What was asked, and what is wrong with the draft by it."""

    probes: tuple[Probe, ...] = ()
    findings: tuple[Finding, ...] = ()
    unread: tuple[str, ...] = ()
    """Checks whose reader said nothing readable."""
    again: bool = False
    """Was it all said before, so that nothing was asked for it?"""


Check = Callable[[Draft, int, RunContext], Awaitable[CheckResult]]
