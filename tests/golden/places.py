"""The position of a request in a run: seed, stage, role, sample, conversation and turn, but not its words.

Recorded answers are stored by position, so that prompts, models and the order of concurrent calls may change without
a new recording. The position is not in the request: the ledger has the stage, and seed and conversation are in the
context of the running task.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from pipeline.llm import ledger
from pipeline.llm.base import Request
from pipeline.types import Seed

_seed: ContextVar[str] = ContextVar("seed")


@dataclass(frozen=True)
class _Conversation:
    name: str
    number: int
    """Counts those of one name: a draft's readers all ask under one sample."""
    turn: int

    def __str__(self) -> str:
        return f"{self.name}#{self.number}"


_conversation: ContextVar[_Conversation | None] = ContextVar("conversation", default=None)
"""The last one of this task, judges apart: the one whose answer a judge is asked about."""


def seed_name(seed: Seed) -> str:
    """Name a seed by passage and draw, since its key has the digests of all prompts in it."""
    return f"{seed.passage.id} {seed.draw}"


@contextmanager
def at(seed: Seed) -> Iterator[None]:
    """Assign all calls of the body, and of the tasks that it starts, to a seed."""
    token = _seed.set(seed_name(seed))
    try:
        yield
    finally:
        _seed.reset(token)


class Places:
    """Of one run: counts its conversations as they begin."""

    def __init__(self) -> None:
        self._begun: Counter[str] = Counter()

    def place(self, request: Request) -> str:
        """Return the position of a request. Call it once for each request, in the task that makes it."""
        role, turn = ledger.role(request), sum(message.role == "assistant" for message in request.messages)
        last = _conversation.get()
        stage = f"{_seed.get()} | {ledger._stage.get()}"
        if role == "verdict":
            return str(self._next(f"{last or stage} | {role} {request.sample}", turn))
        name = f"{stage} | {role} {request.sample}"
        if last is not None and last.name == name and last.turn < turn:
            now = _Conversation(name, last.number, turn)
        else:
            now = self._next(name, turn)
        _conversation.set(now)
        return f"{now} | {turn}"

    def _next(self, name: str, turn: int) -> _Conversation:
        self._begun[name] += 1
        return _Conversation(name, self._begun[name] - 1, turn)


def now() -> str:
    """Return the seed of the current task."""
    return _seed.get()
