"""One cause that ends every seed: a server that reads no tool calls or refuses requests, a judge that cannot be read.

Seeds in a row that ended without a draft or a verdict wait here before they are journalled. Where so many have the same
error more often than any other, the run stops with it in words, and they stay owed: what is wrong is not theirs.
Any seed that ended otherwise lets those that wait go.
"""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Generic, TypeVar

from pipeline.errors import ProviderError
from pipeline.run.attempts import REFUSED
from pipeline.store.cache import Cache

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
"""What would cure an error, by words in it; the first that it holds counts."""
REFUSAL_CURES = {
    r"filter|policy|moderat|flagged": "relax the server's content filter for this model, or name another model",
    r"thought_signature": (
        "set models.default.tools to schema or text, or use an address that passes the fields of a call on, such as "
        "Gemini's own: a signature that came with a call is sent back, so a gateway has dropped it"
    ),
    r"reasoning_content": "set models.default.reasoning=keep",
    r"\btools?\b|\bfunctions?\b": "set models.default.tools to schema or text",
}
"""What would cure a refusal, by a pattern of the server's words; the first that matches counts."""


class SameError(Generic[T]):
    """Seeds that wait. `most` of one error stop the run; 0: none waits, and nothing does."""

    def __init__(self, most: int, *, proven: bool = False) -> None:
        self._most = most
        self._waiting: list[tuple[str, str, T]] = []
        """What an error counts as, the error and the seed."""
        self._proven, self._stopped = proven or not most, False

    @property
    def room(self) -> int | None:
        """Seeds that may be at work at once as long as none has ended well; then as many as wanted, which is None."""
        return None if self._proven else max(1, self._most - len(self._waiting))

    def ended(self, error: str, seed: T, *, refused: bool = False) -> list[T]:
        """Return the seeds to journal now that this one has ended with that error, or none. All
        refusals count as one error, since servers name the request in their words."""
        if error and self._most:
            self._waiting.append((REFUSED if refused else error, error, seed))
            if self.cause or len(self._waiting) < 2 * self._most:
                return []
            # So many different errors are the model's own.
            self._proven = True
            return self.let_go()
        self._proven = True
        return [*self.let_go(), seed]

    def let_go(self) -> list[T]:
        """Those that wait, which are to be journalled, unless the run stops for them."""
        return [] if self._stopped else self._taken()

    def dropped(self) -> list[T]:
        """Those that the run stops for, which stay owed."""
        return self._taken() if self._stopped else []

    def _taken(self) -> list[T]:
        waiting, self._waiting = self._waiting, []
        return [seed for *_, seed in waiting]

    @property
    def cause(self) -> str:
        """What the error counts as that so many seeds wait with; empty if there are not yet so many."""
        counts = Counter(kind for kind, *_ in self._waiting).most_common(1)
        return counts[0][0] if counts and counts[0][1] >= self._most else ""

    def stop(self) -> ProviderError:
        """What a run stops with that has a `cause`."""
        self._stopped = True
        error = next(error for kind, error, _ in self._waiting if kind == self.cause)
        if self.cause == REFUSED:
            line = f'the server refused requests of {self._most} seeds in a row: "{error}".'
            cures = (cure for words, cure in REFUSAL_CURES.items() if re.search(words, error, re.IGNORECASE))
            cure = next(cures, "look into the server's log")
        else:
            line = f'{self._most} seeds in a row ended without a question or a verdict for one format error: "{error}"'
            cure = next((cure for words, cure in CURES.items() if words in error), "look at what the model says")
        return ProviderError(
            f"{line} To cure it, {cure}; 'digsite doctor' shows what the server does. These seeds will be run again; "
            "to go on in spite of it: --set how.same_error_seeds=0",
            then="stop",
        )


def forget(cache: Path, digests: Iterable[str]) -> None:
    """Drop these answers from the cache file: a server that is mended would not be asked again for them."""
    if cache.exists():
        answers = Cache(cache)
        answers.drop(bytes.fromhex(digest) for digest in digests)
        answers.close()
