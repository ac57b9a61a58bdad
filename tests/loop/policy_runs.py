"""Runs of a seed that is measured for two policy models."""

import asyncio
from collections import Counter
from typing import Any

import orjson

from pipeline.config import RunConfig, build
from pipeline.context import RunContext
from pipeline.llm.base import Request
from pipeline.loop.episode import run_seed
from pipeline.types import Message, Record
from tests.loop.cast import LINEAGE, SHELF, Cast, call, get_role, make_seed

STEPS = {"embedded": [3] * 4, "small": [0, 3, 4, 0], "large": [2, 3, 3, 3]}
"""Steps of each model's fresh rollouts; 0 for a wrong answer."""
POLICIES = {
    "one": {"provider": "openai", "model": "small", "reasoning": "keep"},
    "two": {"provider": "openai", "model": "large"},
}


class Trained(Cast):
    """Plays two policies, whose rollouts take `STEPS`: `large` knows the answer by heart in two of three samples,
    and while `bad` the judge of a right answer of `small` is unreadable."""

    def __init__(self, *, bad: bool = False) -> None:
        super().__init__(lambda question, sample: 3)
        self.bad, self.counts, self.model = bad, Counter[tuple[str, str]](), ""

    def __call__(self, request: Request) -> Message:
        role = get_role(request)
        self.counts[request.model, role] += 1
        self.paths = lambda question, sample: STEPS[request.model][sample % 4]
        self.reads = lambda passages: (
            "1641" if passages == 3 or (passages, request.model) == (0, "large") and request.sample < 6 else ""
        )
        if role == "verdict":
            right = "the year 1641" in request.messages[1].content
            verdict = orjson.dumps({"correct": right}).decode()
            return Message(role="assistant", content="hm" if right and self.bad else verdict)
        output = super().__call__(request)
        if request.model == "small" and output.tool_calls and output.tool_calls[0].name == "answer":
            answer = orjson.loads(output.tool_calls[0].arguments)["answer"]
            return call("answer", answer="the year 1641") if answer == "1641" else output
        return output


def make_config(*sets: str) -> RunConfig:
    values = {
        "strategy": "sage",
        "models": {"policies": POLICIES},
        "retrieval": {"k": 1},
        "difficulty": {"adversarial": False},
    }
    return build(values=values, sets=sets)


def run_policies(llm: Any, *sets: str) -> Record:
    return asyncio.run(run_seed(make_seed(), RunContext(make_config(*sets), llm, SHELF, LINEAGE)))
