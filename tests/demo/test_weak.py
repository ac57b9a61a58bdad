"""The weaker demo model is the strong one, except for what its solver overlooks."""

import orjson
import pytest

from pipeline import config
from pipeline.agents.judge import VERDICT
from pipeline.agents.solver import attempt, solver
from pipeline.agents.tools import SOLVER_TOOLS
from pipeline.demo.role_dispatch import DemoModel
from pipeline.demo.weak import WeakModel, drop_overlooked
from pipeline.llm.base import Request
from pipeline.run.prepare import client
from pipeline.types import Message, Rollout
from tests.demo.test_chain_solver import SHELF

QUESTION = 'In what year was the director of the film "Lantern Bay" born?'
TRIES = 24
WEAK = config.build(values={"models": {"default": {"model": "embedded-weak"}}})


async def roll(sample: int) -> Rollout:
    return await attempt(solver(WEAK, WeakModel(), SHELF), QUESTION, sample)


async def test_it_solves_some_of_its_tries_and_each_alike_every_time() -> None:
    tried = [await roll(sample) for sample in range(TRIES)]
    assert tried == [await roll(sample) for sample in range(TRIES)]
    assert 0.2 < sum(rollout.answer == "1890" for rollout in tried) / TRIES < 0.9


async def test_that_nothing_is_overlooked_makes_it_the_strong_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipeline.demo.weak.OVERLOOKED", 0.0)
    strong = [await attempt(solver(WEAK, DemoModel(), SHELF), QUESTION, sample) for sample in range(4)]
    assert [await roll(sample) for sample in range(4)] == strong


async def test_what_it_overlooks_is_overlooked_in_every_turn_and_counted() -> None:
    rollout = next(attempt for attempt in [await roll(n) for n in range(TRIES)] if attempt.answer != "1890")
    messages = rollout.trajectory.messages

    def request(length: int) -> Request:
        return Request(model="embedded-weak", messages=messages[:length], tools=SOLVER_TOOLS, sample=rollout.sample)

    shortened = drop_overlooked(request(len(messages)))
    assert shortened != messages
    assert all(drop_overlooked(request(length)) == shortened[:length] for length in range(2, len(messages)))
    sent = request(len(messages) - 1)
    assert (await WeakModel().complete(sent)).usage.prompt_tokens == (
        (await DemoModel().complete(sent)).usage.prompt_tokens
    )


async def test_its_other_roles_are_the_strong_ones() -> None:
    inputs = {"question": "Who?", "answer": "Ada Holm", "answer_aliases": [], "answer_type": "entity", "response": "A."}
    fenced = (
        f"<<<inputs {'0' * 16}>>>\n{orjson.dumps(inputs | {'answer_precision': ''}).decode()}\n<<<end {'0' * 16}>>>"
    )
    request = Request(model="embedded-weak", messages=(Message(role="user", content=fenced),), output=VERDICT)
    assert await WeakModel().complete(request) == await DemoModel().complete(request)


def test_each_strength_has_its_name() -> None:
    strong = config.build().models.default
    assert isinstance(client(WEAK.models.default, 0), WeakModel)
    assert isinstance(client(strong, 0), DemoModel)
    assert WEAK.digest() != config.build().digest()
