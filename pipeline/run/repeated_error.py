"""One cause that ends every seed, such as a server that reads no tool calls, a refusal, or an unreadable judge.

Consecutive seeds that ended without a draft or a verdict wait here before they are journalled. When enough of them have
the same error, the run stops and explains it. These seeds stay owed, since the fault is not theirs. Any seed that ends
otherwise releases those that wait.
"""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Generic, TypeVar

from pipeline.errors import ProviderError
from pipeline.store.cache import Cache
from pipeline.types import ReasonCode

T = TypeVar("T")
_PARSER = (
    "have the server read tool calls: vLLM and SGLang with the --tool-call-parser of the model's family (vLLM with "
    "--enable-auto-tool-choice too), llama.cpp with --jinja"
)
_ROOM = "raise sampling.max_tokens, or lower the server's reasoning effort"
_CONTEXT = "check that the server's context is as long as models.default.context (Ollama: num_ctx)"
CURES = {
    "called no tool": _PARSER,
    "There is no tool": _PARSER,
    "was cut off": _ROOM,
    "again and again": f"{_CONTEXT}, or try another sampling.temperature or quantisation",
    "gave no readable": f"{_CONTEXT}, {_ROOM}, or name another model for that role",
    "is not in the passage": "name a stronger model for the generator",
    "has been read; cite": f"{_CONTEXT}, or name a stronger model for the generator",
    "valid": f"{_PARSER} and check that this parser keeps lists and objects as JSON",
}
"""Remedies by words in the error; the first match counts."""
REFUSAL_CURES = {
    r"filter|policy|moderat|flagged": "relax the server's content filter for this model, or name another model",
    r"thought_signature": (
        "set models.default.tools to schema or text, or use an address that passes the fields of a call on, such as "
        "Gemini's own: a signature that came with a call is sent back, so a gateway has dropped it"
    ),
    r"reasoning_content": "set models.default.reasoning=keep",
    r"\btools?\b|\bfunctions?\b": "set models.default.tools to schema or text",
}
"""Remedies by a pattern in the refusal; the first match counts."""


class SameError(Generic[T]):
    """The seeds that wait. `most` seeds with one error stop the run; with 0 no seed waits and nothing stops it."""

    def __init__(self, most: int, *, proven: bool = False) -> None:
        self._most = most
        self._waiting: list[tuple[str, str, T]] = []
        """The kind of an error, the error and the seed."""
        self._is_proven, self._is_stopped = proven or not most, False

    @property
    def room(self) -> int | None:
        """Return how many seeds may run at once while none has ended well, or None for no limit."""
        return None if self._is_proven else max(1, self._most - len(self._waiting))

    def add(self, error: str, seed: T, *, refused: bool = False) -> list[T]:
        """Take in a seed that ended with this error, or with none. Return the seeds to journal now.

        All refusals count as one error, since servers name the request in their words.
        """
        if error and self._most:
            self._waiting.append((ReasonCode.REFUSED if refused else error, error, seed))
            if self.cause or len(self._waiting) < 2 * self._most:
                return []
            # If the errors are this varied, they are the model's and not the server's.
            self._is_proven = True
            return self.let_go()
        self._is_proven = True
        return [*self.let_go(), seed]

    def let_go(self) -> list[T]:
        return [] if self._is_stopped else self._take_waiting()

    def take_dropped(self) -> list[T]:
        return self._take_waiting() if self._is_stopped else []

    def _take_waiting(self) -> list[T]:
        waiting, self._waiting = self._waiting, []
        return [seed for *_, seed in waiting]

    @property
    def cause(self) -> str:
        """Return the kind of error that enough seeds wait with to stop the run, or an empty text."""
        counts = Counter(kind for kind, *_ in self._waiting).most_common(1)
        return counts[0][0] if counts and counts[0][1] >= self._most else ""

    def stop(self) -> ProviderError:
        self._is_stopped = True
        error = next(error for kind, error, _ in self._waiting if kind == self.cause)
        if self.cause == ReasonCode.REFUSED:
            line = f'the server refused requests of {self._most} seeds in a row: "{error}".'
            cures = (cure for words, cure in REFUSAL_CURES.items() if re.search(words, error, re.IGNORECASE))
            cure = next(cures, "look into the server's log")
        else:
            line = f'{self._most} seeds in a row ended without a question or a verdict for one format error: "{error}"'
            cure = next((cure for words, cure in CURES.items() if words in error), "look at what the model says")
        return ProviderError(
            f"{line} To cure it, {cure}; 'digsite doctor' shows what the server does. These seeds will be run again; "
            "to continue anyway: --set runtime.same_error_seeds=0",
            then="stop",
        )


def forget(cache: Path, digests: Iterable[str]) -> None:
    """Drop these answers from the cache file: a repaired server would not be asked again for them."""
    if cache.exists():
        answers = Cache(cache)
        answers.drop(bytes.fromhex(digest) for digest in digests)
        answers.close()
