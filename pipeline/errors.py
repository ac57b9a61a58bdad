"""Every error that crosses a module boundary, named for the boundary it crossed.

A bad rollout, an unusable draft or an unsolved question is data and never one of these.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import Literal


class DigsiteError(Exception):
    """Base of all. The message is one line that says what to do; the command line prints it and exits `exit_code`."""

    exit_code = 1


class UsageError(DigsiteError):
    """The user asked for something that cannot be: a bad option, an unknown corpus, a changed configuration."""

    exit_code = 2


def unknown(what: str, name: str, known: Iterable[str], more: str = "") -> UsageError:
    """The error for a name that is none: it names the nearest one, and those that there are."""
    known = list(known)
    near = get_close_matches(name, known, n=1)
    guess = f"did you mean '{near[0]}'? " if near else ""
    return UsageError(f"no {what} '{name}'; {guess}known: {', '.join(known) or 'none'}{more}")


class CorpusError(UsageError):
    """A corpus, or its manifest, cannot be read."""


class RetrievalError(DigsiteError):
    """The index or its engine failed; `__cause__` holds the engine's own error."""


class ProviderError(DigsiteError):
    """A model's endpoint failed after all retries; the seed goes back to the queue.

    `then` is how the run goes on: `pause` some times and then stop; `requeue` as long as it takes, since the endpoint's
    client watches the clock; `stop` at once, since no waiting will help.
    """

    def __init__(self, line: str, *, then: Literal["pause", "requeue", "stop"] = "pause") -> None:
        super().__init__(line)
        self.then = then


class BudgetExceeded(DigsiteError):
    """A budget of the run is used up; what had finished is kept."""

    exit_code = 3


class DeadlineExceeded(DigsiteError):
    """An agent's own clock ran out. A `TimeoutError` is another matter: it comes from within what the clock times."""


class FormatError(DigsiteError):
    """Model output that does not parse. The text goes back to the model, so it is written for it."""


class WorkerError(DigsiteError):
    """A process that runs seeds died, or cannot write its files; its seeds go back to the queue."""


class StoreError(DigsiteError):
    """A file of a run cannot be written, locked or trusted."""


class RunLocked(StoreError):
    """Another process works on the run."""


class Interrupted(DigsiteError):
    """A signal ended the run; what had finished is kept."""

    def __init__(self, line: str, signal: int) -> None:
        super().__init__(line)
        self.exit_code = 128 + signal


class HubError(DigsiteError):
    """The Hugging Face Hub took nothing; `lasting` where no waiting will help."""

    def __init__(self, line: str, *, lasting: bool = False) -> None:
        super().__init__(line)
        self.lasting = lasting
