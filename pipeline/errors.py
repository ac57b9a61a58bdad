"""Every error that crosses a module boundary, named for the boundary it crossed.

A bad rollout, an unusable draft or an unsolved question is data and never one of these.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Literal


class DigsiteError(Exception):
    """Base of all. The message is one line that says what to do; the command line prints it and exits `exit_code`."""

    exit_code = 1
    then: Literal["pause", "requeue", "stop"] = "stop"
    """How a run goes on with the seed that met it: `pause` some times before it is tried again, and then stop;
    `requeue` as long as it takes, since whoever raised it watches the clock; `stop` at once, since no waiting helps."""


class UsageError(DigsiteError):
    """The user asked for something that cannot be: a bad option, an unknown corpus, a changed configuration."""

    exit_code = 2


def unknown(
    what: str, name: str, known: Iterable[str], *, prefix: str = "", listed: str = "", more: str = ""
) -> UsageError:
    """The error for a name that is none: it names the nearest one and those that there are, or where they are
    `listed`. All names follow the `prefix`."""
    bare = {one.lstrip("-").lower(): one for one in known}
    near = get_close_matches(name.lstrip("-").lower(), bare, n=1, cutoff=0.65)
    guess = f"did you mean '{prefix}{bare[near[0]]}'? " if near else ""
    place = f" in {prefix.rstrip('.')}" if prefix else ""
    listed = listed or f"known{place}: {', '.join(bare.values()) or 'none'}"
    return UsageError(f"no {what} '{prefix}{name}'; {guess}{listed}{more}")


_WORDS = [
    (re.compile(pydantic, re.DOTALL), ours)
    for pydantic, ours in (
        (r"Input should be greater than or equal to (\S+).*", r"must be at least \1"),
        (r"Input should be less than or equal to (\S+).*", r"must be at most \1"),
        (r"Input should be greater than (\S+).*", r"must be more than \1"),
        (r"Input should be less than (\S+).*", r"must be less than \1"),
        (r"Input should be a valid integer.*", "must be a whole number"),
        (r"Input should be a (?:valid|finite) number.*", "must be a number"),
        (r"Input should be a valid boolean.*", "must be true or false"),
        (r"Input should be a valid string.*", "must be a text"),
        (r"Input should be a valid (?:list|tuple).*", "must be a list"),
        (r"Input should be a valid dictionary.*", "must be a table of settings"),
        (r"Input should be ('.*)", r"must be \1"),
        (r"\w{1,40} should have at least 1 (?:item|character).*", "must not be empty"),
        (r"\w{1,40} should have at (least|most) (\d+) (items?|characters?).*", r"must have at \1 \2 \3"),
    )
]


def in_words(problem: str) -> str:
    """What pydantic says of a value, as the end of a sentence that begins with the value's name."""
    problem = problem.removeprefix("Value error, ")
    for pattern, ours in _WORDS:
        if match := pattern.fullmatch(problem):
            return match.expand(ours)
    return "is missing" if problem == "Field required" else problem


def reason(error: OSError) -> str:
    """Why the system refused, without its number and the path."""
    return (error.strerror or str(error)).lower()


def first_line(error: BaseException) -> str:
    """What the error says, in one short line; its name where it says nothing."""
    return (str(error).splitlines() or [""])[0][:300] or type(error).__name__


class CorpusError(UsageError):
    """A corpus, or its manifest, cannot be read."""


class RetrievalError(DigsiteError):
    """The index or its engine failed; `__cause__` holds the engine's own error."""

    then = "pause"


class ProviderError(DigsiteError):
    """A model's endpoint failed after all retries; the seed goes back to the queue."""

    def __init__(self, line: str, *, then: Literal["pause", "requeue", "stop"] = "pause") -> None:
        super().__init__(line)
        self.then = then


class RequestRefused(DigsiteError):
    """A server refuses one request, or fails on it, each time it is sent, and answers others.

    It is no answer of a model. The message quotes the server.
    """


class BudgetExceeded(DigsiteError):
    """A budget of the run is used up; what had finished is kept."""

    exit_code = 3


class DeadlineExceeded(DigsiteError):
    """An agent's own clock ran out. A `TimeoutError` is another matter: it comes from within what the clock times."""


class FormatError(DigsiteError):
    """Model output that does not parse. The text goes back to the model, so it is written for it."""


class WorkerError(DigsiteError):
    """A process that runs seeds died, or cannot write its files; its seeds go back to the queue."""

    then = "pause"


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
