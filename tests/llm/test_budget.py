"""A budget refuses the call that would come after it is used up, and no other."""

import asyncio

import pytest

from pipeline.errors import BudgetExceeded
from pipeline.llm.base import Completion, Finish, Request
from pipeline.llm.budget import Budget, Budgeted
from pipeline.llm.ledger import Counted, Spent, counting, enter
from pipeline.llm.scripted import ScriptedLLM
from pipeline.types import Message, Usage

REQUEST = Request(model="m", messages=(Message(role="user", content="Who?"),))
USAGE = Usage(calls=1, prompt_tokens=80, completion_tokens=20)


def answer(request: Request) -> Completion:
    return Completion(message=Message(role="assistant", content="a"), finish=Finish.STOP, usage=USAGE)


def cost(usage: Usage) -> float:
    return usage.prompt_tokens / 100


async def calls(budget: Budget) -> int:
    """How many calls the budget allows."""
    model = Budgeted(ScriptedLLM(answer), budget, cost)
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
async def test_it_ends_when_it_is_used_up(budget: Budget, allowed: int) -> None:
    assert await calls(budget) == allowed


async def test_seconds_run_from_the_start() -> None:
    budget = Budget(seconds=0.05, before=Spent())
    budget.check()
    await asyncio.sleep(0.06)
    with pytest.raises(BudgetExceeded, match="--budget-seconds") as caught:
        budget.check()
    assert caught.value.exit_code == 3


async def test_the_ledger_knows_the_money_or_says_that_it_does_not() -> None:
    priced, unpriced = Counted(ScriptedLLM(answer), cost), Counted(ScriptedLLM(answer), lambda usage: None)
    with counting() as ledger:
        await priced.complete(REQUEST)
        await priced.complete(REQUEST)
        assert ledger.spending.roles["text"].money == pytest.approx(1.6)
        await unpriced.complete(REQUEST)
        assert ledger.spending.roles["text"].money is None


async def test_the_ledger_tells_the_rounds_apart() -> None:
    llm = Counted(ScriptedLLM(answer))
    with counting() as counted:
        await llm.complete(REQUEST)
        enter("round 0")
        await asyncio.gather(llm.complete(REQUEST), llm.complete(REQUEST))
        enter("round 1")
        await llm.complete(REQUEST)
    with counting() as other:
        await llm.complete(REQUEST)
    stages = {stage: spent.paid.calls for stage, spent in counted.spending.stages.items()}
    assert list(stages.items()) == [("round 0", 2), ("round 1", 1), ("other", 1)]
    assert list(other.spending.stages) == ["other"]
