"""The errors that cross module boundaries, each named for its boundary.

A bad rollout, an unusable draft or an unsolved question is data, never one of these errors.
"""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Literal


class DigsiteError(Exception):
    """Base class. The message is one line that says what to do; the command line prints it and exits `exit_code`."""

    exit_code = 1
    then: Literal["pause", "requeue", "stop"] = "stop"
    """How the run continues with the seed: `pause` and retry a few times, then stop; `requeue` without a limit, since
    the code that raises the error watches the time; or `stop` at once, since waiting does not help."""


class UsageError(DigsiteError):
    """A request that cannot be carried out: a bad option, an unknown corpus, a changed configuration."""

    exit_code = 2


def unknown(
    what: str, name: str, known: Iterable[str], *, prefix: str = "", listed: str = "", more: str = ""
) -> UsageError:
    """Build the error for an unknown name, with the closest known name and all others.

    Args:
        what: the kind of thing that the name should name.
        name: the unknown name.
        known: the known names.
        prefix: the text before every name in the message.
        listed: the text in place of the list of known names.
        more: the text at the end of the message.
    """
    by_key = {known_name.lstrip("-").lower(): known_name for known_name in known}
    closest = get_close_matches(name.lstrip("-").lower(), by_key, n=1, cutoff=0.65)
    guess = f"did you mean '{prefix}{by_key[closest[0]]}'? " if closest else ""
    scope = f" in {prefix.rstrip('.')}" if prefix else ""
    listed = listed or f"known{scope}: {', '.join(by_key.values()) or 'none'}"
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
    """Turn a message of pydantic into the end of a sentence that begins with the value's name."""
    problem = problem.removeprefix("Value error, ")
    for pattern, ours in _WORDS:
        if match := pattern.fullmatch(problem):
            return match.expand(ours)
    return "is missing" if problem == "Field required" else problem


def reason(error: OSError) -> str:
    """Return the system's reason, without its number and the path."""
    return (error.strerror or str(error)).lower()


def first_line(error: BaseException) -> str:
    """Return the first line of the error's message, shortened, or the name of its class if it has no message."""
    return (str(error).splitlines() or [""])[0][:300] or type(error).__name__


class CorpusError(UsageError):
    """A corpus, or its manifest, cannot be read."""


class RetrievalError(DigsiteError):
    """The index or its engine failed; `__cause__` holds the engine's own error."""

    then = "pause"


class ProviderError(DigsiteError):
    """A model's endpoint failed after all retries. The seed goes back to the queue."""

    def __init__(self, line: str, *, then: Literal["pause", "requeue", "stop"] = "pause") -> None:
        super().__init__(line)
        self.then = then


class RequestRefused(DigsiteError):
    """A server refuses a request, or fails on it, every time, but answers others. The message quotes the server."""


class BudgetExceeded(DigsiteError):
    """A budget of the run is used up. Finished seeds are kept."""

    exit_code = 3


class DeadlineExceeded(DigsiteError):
    """An agent ran out of its time. A `TimeoutError` is different: it comes from within the timed work."""


class FormatError(DigsiteError):
    """Model output that does not parse. Its message goes back to the model, so it is written for the model."""


class WorkerError(DigsiteError):
    """A process that runs seeds died, or cannot write its files. Its seeds go back to the queue."""

    then = "pause"


class StoreError(DigsiteError):
    """A file of a run cannot be written, locked or trusted."""


class RunLocked(StoreError):
    """Another process works on the run."""


class Interrupted(DigsiteError):
    """A signal ended the run. Finished seeds are kept."""

    def __init__(self, line: str, signal: int) -> None:
        super().__init__(line)
        self.exit_code = 128 + signal


class HubError(DigsiteError):
    """An upload to the Hugging Face Hub failed; `lasting` if waiting does not help."""

    def __init__(self, line: str, *, lasting: bool = False) -> None:
        super().__init__(line)
        self.lasting = lasting
