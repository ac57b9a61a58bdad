"""What calls cost: who made them, how many were paid for, tokens and seconds.

A ledger belongs to one attempt at one seed. It is found through the context of the running task, so that every call an
episode makes, in whatever child task, lands on its own ledger. Nothing here reaches a record: it goes to
`attempts.jsonl`, outside the promise of equal bytes.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from pipeline.llm.base import LLM, Completion, Request
from pipeline.types import Data, Usage


class Spent(Data):
    """All calls of one role."""

    paid: Usage = Usage()
    cached: Usage = Usage()
    """Calls that the cache answered, and the tokens that they saved."""
    errors: int = 0
    seconds: float = 0.0
    """Of the paid calls and the failed ones, added up; concurrent calls count each."""
    money: float | None = 0.0
    """Of the paid calls, at the configured prices; None where one of them has no price."""

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            paid=self.paid + other.paid,
            cached=self.cached + other.cached,
            errors=self.errors + other.errors,
            seconds=self.seconds + other.seconds,
            money=None if self.money is None or other.money is None else self.money + other.money,
        )


class Ledger:
    """`roles` maps the role (`propose`, `revise`, `answer`, `verdict`, ...) to what it spent."""

    def __init__(self) -> None:
        self.roles: dict[str, Spent] = {}

    def add(self, role: str, spent: Spent) -> None:
        self.roles[role] = self.roles.get(role, Spent()) + spent


_ledger: ContextVar[Ledger | None] = ContextVar("ledger", default=None)


@contextmanager
def counting() -> Iterator[Ledger]:
    """A fresh ledger for all calls of the body and of the tasks that it starts."""
    token = _ledger.set(ledger := Ledger())
    try:
        yield ledger
    finally:
        _ledger.reset(token)


def note_cached(request: Request, usage: Usage) -> None:
    """Called by the cache for an answer that cost nothing."""
    if (ledger := _ledger.get()) is not None:
        ledger.add(role(request), Spent(cached=usage))


def role(request: Request) -> str:
    """Who asks: the name of the structured output or of the last tool that is offered."""
    if request.output is not None:
        return request.output.name
    return request.tools[-1].name if request.tools else "text"


class Counted:
    """Wraps the model that is paid; the cache goes around it: `Cached(Counted(model), cache)`."""

    def __init__(self, llm: LLM, cost: Callable[[Usage], float | None] = lambda usage: 0.0) -> None:
        self._llm = llm
        self._cost = cost

    async def complete(self, request: Request) -> Completion:
        started = time.monotonic()
        completion: Completion | None = None
        try:
            completion = await self._llm.complete(request)
            return completion
        finally:
            if (ledger := _ledger.get()) is not None:
                seconds = time.monotonic() - started
                if completion is None:
                    ledger.add(role(request), Spent(errors=1, seconds=seconds))
                else:
                    paid = completion.usage
                    ledger.add(role(request), Spent(paid=paid, seconds=seconds, money=self._cost(paid)))
