"""The cost of calls, by stage of a seed and role, and by model: billed calls, tokens, seconds and money.

There are two caches, which are counted separately. Digsite's own cache (`Spent.cached`) answers a call that was made
before: nothing is sent, so that nothing is billed. A server's prefix cache (`Usage.cached_tokens`) holds the beginning
of a prompt that is sent: the call is billed, but those tokens are often cheaper.

A ledger belongs to one attempt at one seed. It is in a context variable, so that each call of an episode, in any child
task, counts on the right ledger. Nothing here reaches a record: it goes to `attempts.jsonl`, outside the promise of
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
"""The stage with the teacher's rollouts."""
POLICIES = "policies"
"""The stage with the rollouts and readings of the models to be trained."""
SEEKERS = "seekers"
"""The stage with the seekers' rollouts."""


class Spent(Data):
    """The cost of all calls of one role, or to one model."""

    paid: Usage = Usage()
    """Usage that servers bill. Reasoning is part of the completion."""
    cached: Usage = Usage()
    """Calls that Digsite's cache answered, and the tokens that this saved. They are not billed."""
    repeated: Usage = Usage()
    """The part of `cached` that the same attempt had requested before: it would be free with an empty cache too."""
    errors: int = 0
    """Failed attempts, whether the call was repeated or given up. What a server bills for them is not known."""
    refused: int = 0
    """The part of `errors` that are requests refused by a server."""
    seconds: float = 0.0
    """The sum over paid and failed calls. Concurrent calls all count in full."""
    money: float | None = 0.0
    """The cost of the paid calls at the configured prices, or None if one of them has no price."""

    @property
    def fresh(self) -> Usage:
        """Return what an empty cache would have cost."""
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


_AGENT_STAGES = ((TEACH, "answer"), (POLICIES, "answer"), (POLICIES, "read"), (SEEKERS, "answer"))


class Spending(Data):
    """The cost of one seed or of a run.

    The stages are `round 0`, `round 1`, ..., `confirmation`, `seekers`, `distractors`, `teach`, `policies` and
    `unanswerable`. A role has the name of what was requested (`propose`, `answer`, ...).
    """

    by_stage: dict[str, dict[str, Spent]] = Field(default_factory=dict)
    by_model: dict[str, Spent] = Field(default_factory=dict)
    """The same calls by the name of the model."""

    @property
    def roles(self) -> dict[str, Spent]:
        """Return the cost of each role.

        Teacher, policies and seekers make the same requests as the solver and the reader, so the stage tells them
        apart.
        """
        total: dict[str, Spent] = {}
        for stage, roles in self.by_stage.items():
            for request_name, spent in roles.items():
                role = stage if (stage, request_name) in _AGENT_STAGES else request_name
                total[role] = total.get(role, Spent()) + spent
        return total

    @property
    def stages(self) -> dict[str, Spent]:
        return {stage: sum(roles.values(), Spent()) for stage, roles in sorted(self.by_stage.items(), key=_stage_order)}

    @property
    def total(self) -> Spent:
        return sum(self.roles.values(), Spent())


def _stage_order(entry: tuple[str, object]) -> tuple[bool, str]:
    return not entry[0].startswith("round "), entry[0]  # the rounds come first


class Ledger:
    """The counts of one attempt, which starts now."""

    def __init__(self) -> None:
        self.began, self._clock = datetime.now(UTC), time.monotonic()
        self._stages: dict[str, dict[str, Spent]] = {}
        self._models: dict[str, Spent] = {}
        self.digests: set[bytes] = set()
        """The digests of the requests that the attempt has made, cached or not."""
        self.end_cause = ""
        """Why the attempt ended early: which model's answers could not be read, or how a server refused a request."""

    def add(self, stage: str, role: str, model: str, spent: Spent) -> None:
        _add(self._stages.setdefault(stage, {}), role, spent)
        _add(self._models, model, spent)

    def add_spending(self, spending: Spending) -> None:
        for stage, roles in spending.by_stage.items():
            for role, spent in roles.items():
                _add(self._stages.setdefault(stage, {}), role, spent)
        for model, spent in spending.by_model.items():
            _add(self._models, model, spent)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._clock

    @property
    def spending(self) -> Spending:
        return Spending(by_stage=self._stages, by_model=self._models)


def _add(total: dict[str, Spent], name: str, spent: Spent) -> None:
    total[name] = total[name] + spent if name in total else spent


class _FailedAttempts:
    """The failed attempts of a running call."""

    count = 0
    refused = 0


_ledger: ContextVar[Ledger | None] = ContextVar("ledger", default=None)
_stage: ContextVar[str] = ContextVar("stage", default="other")
_failed: ContextVar[_FailedAttempts | None] = ContextVar("failed", default=None)


def count_elsewhere(
    spending: Spending, began: datetime, seconds: float, digests: Iterable[bytes] = (), end_cause: str = ""
) -> None:
    """Add to the running attempt what another process has counted for it."""
    if (ledger := _ledger.get()) is not None:
        ledger.add_spending(spending)
        ledger.began, ledger._clock = began, time.monotonic() - seconds
        ledger.digests.update(digests)
        ledger.end_cause = end_cause


def note_end_cause(line: str) -> None:
    if (ledger := _ledger.get()) is not None:
        ledger.end_cause = line


@contextmanager
def counting() -> Iterator[Ledger]:
    """Count all calls of the body, and of the tasks that it starts, on a new ledger."""
    ledger_token, stage_token = _ledger.set(ledger := Ledger()), _stage.set("other")
    try:
        yield ledger
    finally:
        _ledger.reset(ledger_token)
        _stage.reset(stage_token)


def enter(stage: str) -> None:
    """Count all further calls of this task, and of the tasks that it starts, for `stage`."""
    _stage.set(stage)


def note_request(digest: bytes) -> bool:
    """Note a request of the running attempt, and return whether the attempt has made it before."""
    if (ledger := _ledger.get()) is None:
        return False
    repeated = digest in ledger.digests
    ledger.digests.add(digest)
    return repeated


def note_cached(request: Request, usage: Usage, *, repeated: bool) -> None:
    """Count an answer of Digsite's cache. `repeated` says whether the attempt had made the request before."""
    _note(request, Spent(cached=usage, repeated=usage if repeated else Usage()))


def note_failed_attempt(*, refused: bool = False) -> None:
    if (failed := _failed.get()) is not None:
        failed.count += 1
        failed.refused += refused


def _note(request: Request, spent: Spent) -> None:
    if (ledger := _ledger.get()) is not None:
        ledger.add(_stage.get(), role(request), request.model, spent)


def role(request: Request) -> str:
    """Return the role that makes a request: the name of its structured output, or of the last tool that it offers."""
    if request.output is not None:
        return request.output.name
    return request.tools[-1].name if request.tools else "text"


class Counted:
    """A model whose calls count as paid. The cache wraps it: `Cached(Counted(model), cache)`."""

    def __init__(self, llm: LLM, cost: Callable[[Usage], float | None] = lambda usage: 0.0) -> None:
        self._llm = llm
        self._cost = cost

    async def complete(self, request: Request) -> Completion:
        start, failed = time.monotonic(), _FailedAttempts()
        token = _failed.set(failed)
        try:
            completion = await self._llm.complete(request)
        except BaseException as error:
            # A used-up budget stops a call before it is made.
            errors = failed.count if isinstance(error, BudgetExceeded) else max(1, failed.count)
            if errors:
                _note(request, Spent(errors=errors, refused=failed.refused, seconds=time.monotonic() - start))
            raise
        finally:
            _failed.reset(token)
        spent = Spent(
            paid=completion.usage,
            errors=failed.count,
            refused=failed.refused,
            seconds=time.monotonic() - start,
            money=self._cost(completion.usage),
        )
        _note(request, spent)
        return completion
