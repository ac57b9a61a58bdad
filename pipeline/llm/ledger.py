"""What calls cost, by role and by stage of a seed, and by model: how many were billed, tokens, seconds and money.

Two caches save two things, and are counted apart. Digsite's own cache (`Spent.cached`) answers a call that was made
before: nothing is sent, so that nothing is billed. A server's prefix cache (`Usage.cached_tokens`) holds the beginning
of a prompt that is sent: the call is billed, those tokens often at a lower price.

A ledger belongs to one attempt at one seed. It is in a context variable, so that every call of an episode, in any child
task, is counted on its own ledger. Nothing here reaches a record: it goes to `attempts.jsonl`, outside the promise of
equal bytes.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from datetime import UTC, datetime

from pydantic import Field

from pipeline.errors import BudgetExceeded
from pipeline.llm.base import LLM, Completion, Request
from pipeline.types import Data, Usage

TEACH = "teach"
"""The stage whose rollouts are the teacher's."""
POLICIES = "policies"
"""The stage whose rollouts and readings are those of the models to be trained."""
SEEKERS = "seekers"
"""The stage whose rollouts are those of seekers."""


class Spent(Data):
    """All calls of one role, or to one model."""

    paid: Usage = Usage()
    """What servers bill. Thinking is part of the completion."""
    cached: Usage = Usage()
    """Calls that Digsite's cache answered, and the tokens that this saved. None of it is billed."""
    repeated: Usage = Usage()
    """Of `cached`, the requests that the same attempt had made before: with an empty cache they would be free too."""
    errors: int = 0
    """Tries that failed: those that were made again, and those that a call was given up after. What a server bills for
    them is not known."""
    refused: int = 0
    """Of `errors`, the requests that a server refused."""
    seconds: float = 0.0
    """The sum over paid and failed calls; concurrent calls count each."""
    money: float | None = 0.0
    """The cost of the paid calls at the configured prices; None where one of them has no price."""

    @property
    def fresh(self) -> Usage:
        """What would have been billed with an empty cache."""
        amounts = {name: getattr(self.cached, name) - getattr(self.repeated, name) for name in Usage.__slots__}
        return self.paid + Usage(**amounts)

    def __add__(self, other: "Spent") -> "Spent":
        return Spent(
            paid=self.paid + other.paid,
            cached=self.cached + other.cached,
            repeated=self.repeated + other.repeated,
            errors=self.errors + other.errors,
            refused=self.refused + other.refused,
            seconds=self.seconds + other.seconds,
            money=None if self.money is None or other.money is None else self.money + other.money,
        )


_OWN = ((TEACH, "answer"), (POLICIES, "answer"), (POLICIES, "read"), (SEEKERS, "answer"))


class Spending(Data):
    """What one seed, or a whole run, cost. The stages are `round 0`, `round 1`, ..., `confirmation`,
    `seekers`, `distractors`, `teach`, `policies`, `unanswerable`; the roles go by the name of what was asked for
    (`propose`, `answer`, ...)."""

    by_stage: dict[str, dict[str, Spent]] = Field(default_factory=dict)
    by_model: dict[str, Spent] = Field(default_factory=dict)
    """The same calls by the name of the model that was asked."""

    @property
    def roles(self) -> dict[str, Spent]:
        """Return what each role took. Answers of the stages `teach`, `policies` and `seekers` are those of teacher,
        policies and seekers, who are asked for the same as the solver and, from memory, the reader."""
        total: dict[str, Spent] = {}
        for stage, roles in self.by_stage.items():
            for asked, spent in roles.items():
                role = stage if (stage, asked) in _OWN else asked
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
        self._models: dict[str, Spent] = {}
        self.asked: set[bytes] = set()
        """The digests of the requests that the attempt has made, cached or not."""
        self.unread = ""
        """Why the attempt ended early: which model's answers could not be read, or how a server refused a request."""

    def note(self, stage: str, role: str, model: str, spent: Spent) -> None:
        _add(self._stages.setdefault(stage, {}), role, spent)
        _add(self._models, model, spent)

    def take(self, spending: Spending) -> None:
        """Add what another attempt has counted."""
        for stage, roles in spending.by_stage.items():
            for role, spent in roles.items():
                _add(self._stages.setdefault(stage, {}), role, spent)
        for model, spent in spending.by_model.items():
            _add(self._models, model, spent)

    def first(self, digest: bytes) -> bool:
        """Is it the first time that this attempt makes the request?"""
        before = len(self.asked)
        self.asked.add(digest)
        return len(self.asked) > before

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._clock

    @property
    def spending(self) -> Spending:
        return Spending(by_stage=self._stages, by_model=self._models)


def _add(total: dict[str, Spent], name: str, spent: Spent) -> None:
    total[name] = total[name] + spent if name in total else spent


class _FailedTries:
    """Of one call that is being made."""

    number = 0
    refused = 0


_ledger: ContextVar[Ledger | None] = ContextVar("ledger", default=None)
_stage: ContextVar[str] = ContextVar("stage", default="other")
_failed: ContextVar[_FailedTries | None] = ContextVar("failed", default=None)


def count_elsewhere(
    spending: Spending, began: datetime, seconds: float, asked: Iterable[bytes] = (), unread: str = ""
) -> None:
    """Count for the running attempt what another process has made of it."""
    if (ledger := _ledger.get()) is not None:
        ledger.take(spending)
        ledger.began, ledger._clock = began, time.monotonic() - seconds
        ledger.asked.update(asked)
        ledger.unread = unread


def note_unread(line: str) -> None:
    """Note why the running attempt ends: answers that could not be read, or a request that a server refused."""
    if (ledger := _ledger.get()) is not None:
        ledger.unread = line


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


@contextmanager
def within(stage: str) -> Iterator[None]:
    """Count the calls of the body for that stage."""
    token = _stage.set(stage)
    try:
        yield
    finally:
        _stage.reset(token)


def first(digest: bytes) -> bool:
    """Is it the first time that the running attempt makes the request? True where nobody counts."""
    ledger = _ledger.get()
    return ledger is None or ledger.first(digest)


def note_cached(request: Request, usage: Usage, *, repeated: bool) -> None:
    """Count an answer of Digsite's cache; `repeated` where the attempt had made the request before."""
    _note(request, Spent(cached=usage, repeated=usage if repeated else Usage()))


def note_failed_try(*, refused: bool = False) -> None:
    """Count a failed try of the running call, and whether the server refused it."""
    if (failed := _failed.get()) is not None:
        failed.number += 1
        failed.refused += refused


def _note(request: Request, spent: Spent) -> None:
    if (ledger := _ledger.get()) is not None:
        ledger.note(_stage.get(), role(request), request.model, spent)


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
        started, failed = time.monotonic(), _FailedTries()
        token = _failed.set(failed)
        try:
            completion = await self._llm.complete(request)
        except BaseException as error:
            # A budget that is used up stops a call before it is made.
            errors = failed.number if isinstance(error, BudgetExceeded) else max(1, failed.number)
            if errors:
                _note(request, Spent(errors=errors, refused=failed.refused, seconds=time.monotonic() - started))
            raise
        finally:
            _failed.reset(token)
        spent = Spent(
            paid=completion.usage,
            errors=failed.number,
            refused=failed.refused,
            seconds=time.monotonic() - started,
            money=self._cost(completion.usage),
        )
        _note(request, spent)
        return completion
