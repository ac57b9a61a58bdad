"""What calls cost, by role and by stage of a seed: how many were paid for, tokens, seconds and money.

A ledger belongs to one attempt at one seed. It is in a context variable, so that every call of an episode, in any child
task, is counted on its own ledger. Nothing here reaches a record: it goes to `attempts.jsonl`, outside the promise of
equal bytes.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

from pydantic import Field

from pipeline.errors import BudgetExceeded
from pipeline.llm.base import LLM, Completion, Request
from pipeline.types import Data, Usage

TEACH = "teach"
"""The stage whose rollouts are the teacher's."""


class Spent(Data):
    """All calls of one role."""

    paid: Usage = Usage()
    cached: Usage = Usage()
    """Calls that the cache answered, and the tokens that this saved."""
    errors: int = 0
    seconds: float = 0.0
    """The sum over paid and failed calls; concurrent calls count each."""
    money: float | None = 0.0
    """The cost of the paid calls at the configured prices; None where one of them has no price."""

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            paid=self.paid + other.paid,
            cached=self.cached + other.cached,
            errors=self.errors + other.errors,
            seconds=self.seconds + other.seconds,
            money=None if self.money is None or other.money is None else self.money + other.money,
        )


class Spending(Data):
    """What one seed, or a whole run, cost. The stages are `round 0`, `round 1`, ..., `confirmation`, `distractors`,
    `teach`; the roles go by the name of what was asked for (`propose`, `revise`, `answer`, `verdict`, ...)."""

    by_stage: dict[str, dict[str, Spent]] = Field(default_factory=dict)

    @property
    def roles(self) -> dict[str, Spent]:
        """Answers of the stage `teach` count as the teacher's, which is asked for the same as the solver."""
        total: dict[str, Spent] = {}
        for stage, roles in self.by_stage.items():
            for asked, spent in roles.items():
                role = TEACH if (stage, asked) == (TEACH, "answer") else asked
                total[role] = total.get(role, Spent()) + spent
        return total

    @property
    def stages(self) -> dict[str, Spent]:
        return {stage: sum(roles.values(), Spent()) for stage, roles in sorted(self.by_stage.items(), key=_late)}

    @property
    def total(self) -> Spent:
        return sum(self.roles.values(), Spent())


def _late(item: tuple[str, object]) -> tuple[bool, str]:
    """Rounds in their order, then the other stages."""
    return not item[0].startswith("round "), item[0]


class Ledger:
    """Counts the calls of one attempt, which starts now."""

    def __init__(self) -> None:
        self.began, self._clock = datetime.now(UTC), time.monotonic()
        self._stages: dict[str, dict[str, Spent]] = {}

    def note(self, stage: str, role: str, spent: Spent) -> None:
        roles = self._stages.setdefault(stage, {})
        roles[role] = roles[role] + spent if role in roles else spent

    def take(self, spending: Spending) -> None:
        """Add what another attempt has counted."""
        for stage, roles in spending.by_stage.items():
            for role, spent in roles.items():
                self.note(stage, role, spent)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._clock

    @property
    def spending(self) -> Spending:
        return Spending(by_stage=self._stages)


_ledger: ContextVar[Ledger | None] = ContextVar("ledger", default=None)
_stage: ContextVar[str] = ContextVar("stage", default="other")


@contextmanager
def counting() -> Iterator[Ledger]:
    """A new ledger for all calls of the body and of the tasks that it starts."""
    tokens = _ledger.set(ledger := Ledger()), _stage.set("other")
    try:
        yield ledger
    finally:
        _ledger.reset(tokens[0])
        _stage.reset(tokens[1])


def enter(stage: str) -> None:
    """Count all further calls of this task, and of the tasks that it starts, for that stage."""
    _stage.set(stage)


def note_cached(request: Request, usage: Usage) -> None:
    """Count an answer of the cache."""
    _note(request, Spent(cached=usage))


def _note(request: Request, spent: Spent) -> None:
    if (ledger := _ledger.get()) is not None:
        ledger.note(_stage.get(), role(request), spent)


def role(request: Request) -> str:
    """The role that makes a request: the name of its structured output, or of the last tool that it offers."""
    if request.output is not None:
        return request.output.name
    return request.tools[-1].name if request.tools else "text"


class Counted:
    """A model whose calls are counted as paid; the cache wraps it: `Cached(Counted(model), cache)`."""

    def __init__(self, llm: LLM, cost: Callable[[Usage], float | None] = lambda usage: 0.0) -> None:
        self._llm = llm
        self._cost = cost

    async def complete(self, request: Request) -> Completion:
        started = time.monotonic()
        try:
            completion = await self._llm.complete(request)
        except BudgetExceeded:  # the call was not made
            raise
        except BaseException:
            _note(request, Spent(errors=1, seconds=time.monotonic() - started))
            raise
        paid = completion.usage
        _note(request, Spent(paid=paid, seconds=time.monotonic() - started, money=self._cost(paid)))
        return completion
