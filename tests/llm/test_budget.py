"""A budget refuses the first call after it is used up, and no other."""

import asyncio
import re

import pytest

from pipeline.config.models import Limits, Prices
from pipeline.errors import BudgetExceeded
from pipeline.llm.base import Completion, Finish, Request
from pipeline.llm.budget import Budget, Budgeted
from pipeline.llm.ledger import Counted, Spent, counting, enter
from pipeline.llm.pool import Pool
from pipeline.llm.retry import CallFailure
from pipeline.types import Message, Usage
from tests.llm.test_retry import Alone
from tests.scripted_llm import ScriptedLLM

REQUEST = Request(model="m", messages=(Message(role="user", content="Who?"),))
USAGE = Usage(calls=1, prompt_tokens=80, completion_tokens=20)


def make_answer(request: Request) -> Completion:
    return Completion(message=Message(role="assistant", content="a"), finish=Finish.STOP, usage=USAGE)


def cost(usage: Usage) -> float:
    return usage.prompt_tokens / 100


async def count_calls(budget: Budget) -> int:
    """Return how many calls the budget allows."""
    model = Budgeted(ScriptedLLM(make_answer), budget, cost)
    for number in range(100):
        try:
            await model.complete(REQUEST)
        except BudgetExceeded:
            return number
    return 100


@pytest.mark.parametrize(
    ("budget", "allowed"),
    [
        (Budget(before=Spent()), 100),
        (Budget(tokens=1000, before=Spent()), 10),
        (Budget(tokens=1001, before=Spent()), 11),
        (Budget(money=2.0, before=Spent()), 3),
        (Budget(tokens=1000, before=Spent(paid=Usage(calls=3, prompt_tokens=900))), 1),
        (Budget(tokens=1000, before=Spent(paid=Usage(calls=3, prompt_tokens=1000))), 0),
        (Budget(money=2.0, before=Spent(money=1.9)), 1),
    ],
)
async def test_a_budget_ends_when_it_is_used_up(budget: Budget, allowed: int) -> None:
    assert await count_calls(budget) == allowed


def test_a_used_budget_of_tokens_names_computed_cached_and_estimated_tokens() -> None:
    usage = Usage(calls=9, prompt_tokens=9000, cached_tokens=6000, completion_tokens=1000)
    message = "10,000 of 9,000 tokens are used (3,000 computed and 6,000 cached prompt tokens, 1,000 completion tokens)"
    with pytest.raises(BudgetExceeded, match=re.escape(message)):
        Budget(tokens=9000, before=Spent(paid=usage)).check()
    budget = Budget(tokens=9000, before=Spent())
    budget.add(usage.model_copy(update={"estimated_cached_tokens": 10}), None)
    with pytest.raises(BudgetExceeded, match="about 3,000 computed and about 6,000 cached prompt tokens"):
        budget.check()


@pytest.mark.parametrize(
    ("estimated", "cost"), [(0, 2 * 4 + 6 * 0.5), (6_000_000, 2 * 10), (2_000_000, 2 * 6 + 4 * 0.5)]
)
def test_cached_tokens_have_their_own_price_only_if_they_are_reported(estimated: int, cost: float) -> None:
    usage = Usage(calls=1, prompt_tokens=10_000_000, cached_tokens=6_000_000, estimated_cached_tokens=estimated)
    assert Prices(prompt=2, completion=6, cached=0.5).of(usage) == cost
    assert Prices(prompt=2, completion=6).of(usage) == 20


async def test_a_budget_of_seconds_runs_from_the_start() -> None:
    budget = Budget(seconds=0.05, before=Spent())
    budget.check()
    await asyncio.sleep(0.06)
    with pytest.raises(BudgetExceeded, match="of 0.05 seconds have passed; .* --budget-seconds") as caught:
        budget.check()
    assert caught.value.exit_code == 3


async def test_the_ledger_sums_the_cost_unless_a_price_is_unknown() -> None:
    priced, unpriced = Counted(ScriptedLLM(make_answer), cost), Counted(ScriptedLLM(make_answer), lambda usage: None)
    with counting() as ledger:
        await priced.complete(REQUEST)
        await priced.complete(REQUEST)
        assert ledger.spending.roles["text"].money == pytest.approx(1.6)
        await unpriced.complete(REQUEST)
        assert ledger.spending.roles["text"].money is None


async def test_the_ledger_separates_rounds() -> None:
    llm = Counted(ScriptedLLM(make_answer))
    with counting() as first:
        await llm.complete(REQUEST)
        enter("round 0")
        await asyncio.gather(llm.complete(REQUEST), llm.complete(REQUEST))
        enter("round 1")
        await llm.complete(REQUEST)
    with counting() as second:
        await llm.complete(REQUEST)
    stages = {stage: spending.paid.calls for stage, spending in first.spending.stages.items()}
    assert list(stages.items()) == [("round 0", 2), ("round 1", 1), ("other", 1)]
    assert list(second.spending.stages) == ["other"]


async def test_a_call_in_the_queue_is_not_made_once_the_budget_is_used_up() -> None:
    budget, limits, count = Budget(tokens=100, before=Spent()), Limits(concurrency=2, attempts=3), 0

    class BusyAtFirst(Alone):
        async def answer(self, request: Request) -> Completion:
            nonlocal count
            count = number = count + 1
            await asyncio.sleep(0.01)
            if number == 1:
                raise CallFailure("busy", after=0.02)
            return make_answer(request)

    with counting() as ledger:
        model = Budgeted(Counted(Pool([BusyAtFirst(limits)], limits), cost), budget, cost)
        results = await asyncio.gather(*(model.complete(REQUEST) for _ in range(9)), return_exceptions=True)
    assert [type(result) for result in results].count(BudgetExceeded) == 9 - (count - 1)
    assert count <= 3
    assert (ledger.spending.total.errors, ledger.spending.total.paid.calls) == (1, count - 1)
