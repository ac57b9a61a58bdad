"""The budget of a run: tokens, money, seconds.

No call is made once the budget is used up; cached answers stay free. So the overshoot is at most the calls in flight,
and a run with a higher budget continues where this one stopped. A call that had to wait, for its turn or before a
retry, checks again, through a context variable.
"""

import time
from collections.abc import Callable
from contextvars import ContextVar

from pipeline.errors import BudgetExceeded
from pipeline.llm.base import LLM, Completion, Request
from pipeline.llm.ledger import Spent
from pipeline.types import Usage


class Budget:
    """The budget that all models of a run share. `before` is what earlier commands spent on the same run."""

    def __init__(
        self, *, tokens: int | None = None, money: float | None = None, seconds: float | None = None, before: Spent
    ) -> None:
        self._tokens, self._money, self._seconds = tokens, money, seconds
        self._start = time.monotonic()
        self.usage = before.paid
        self.paid = before.money or 0.0

    def check(self) -> None:
        """Raise BudgetExceeded if a limit is reached."""
        seconds = time.monotonic() - self._start
        if self._tokens is not None and self.used >= self._tokens:
            parts = f"{_prompt_tokens(self.usage)}, {self.usage.completion_tokens:,} completion tokens"
            raise _budget_error("tokens", f"{self.used:,} of {self._tokens:,} tokens are used ({parts})")
        if self._money is not None and self.paid >= self._money:
            raise _budget_error("money", f"{self.paid:.4f} of {self._money:.4f} is spent")
        if self._seconds is not None and seconds >= self._seconds:
            raise _budget_error("seconds", f"{seconds:,.1f} of {self._seconds:,g} seconds have passed")

    def remaining(self) -> dict[str, float]:
        """Return what remains of each limit, by the name that the limit has in the settings (`runtime`)."""
        limits = {
            "budget_tokens": (self._tokens, self.used),
            "budget_money": (self._money, self.paid),
            "budget_seconds": (self._seconds, time.monotonic() - self._start),
        }
        return {name: limit - used for name, (limit, used) in limits.items() if limit is not None}

    @property
    def used(self) -> int:
        return self.usage.total_tokens

    def add(self, usage: Usage, cost: float | None) -> None:
        self.usage += usage
        self.paid += cost or 0.0


_budget: ContextVar[Budget | None] = ContextVar("budget", default=None)


def check() -> None:
    """Check the budget of the running call, if it has one. Raises BudgetExceeded."""
    if (budget := _budget.get()) is not None:
        budget.check()


class Budgeted:
    """A model whose calls count against a budget."""

    def __init__(self, llm: LLM, budget: Budget, cost: Callable[[Usage], float | None]) -> None:
        self._llm, self._budget, self._cost = llm, budget, cost

    async def complete(self, request: Request) -> Completion:
        self._budget.check()
        token = _budget.set(self._budget)
        try:
            completion = await self._llm.complete(request)
        finally:
            _budget.reset(token)
        self._budget.add(completion.usage, self._cost(completion.usage))
        return completion


def _prompt_tokens(usage: Usage) -> str:
    about = "about " if usage.estimated_cached_tokens else ""
    return f"{about}{usage.computed_tokens:,} computed and {about}{usage.cached_tokens:,} cached prompt tokens"


def _budget_error(name: str, line: str) -> BudgetExceeded:
    return BudgetExceeded(
        f"the budget is used up: {line}; to continue, repeat the command with a higher --budget-{name}"
    )
