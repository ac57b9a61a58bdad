"""Runs of a seed whose accepted pair gets a twin without an answer."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson

from pipeline import config, prompts
from pipeline.context import RunContext
from pipeline.llm.base import Request
from pipeline.loop.episode import run_seed as run_episode
from pipeline.types import NOT_FOUND, Message, Record, Status, Twin
from tests.loop.cast import FILM, HOLM, LINEAGE, QUESTION, TOWN, Cast, call, get_role, make_seed
from tests.passages import Shelf
from tests.scripted_llm import ScriptedLLM

SETS = (
    "strategy='sage'", "difficulty.adversarial=false", "loop.audit=false",
    "retrieval.k=1", "loop.rollouts=2", "questions.unanswerable=1", 'checks.enabled=["oracle"]',
    "models.default.provider=openai", "models.default.model=scripted",
    "models.default.base_url=http://127.0.0.1:9/v1",
)  # fmt: skip
CHANGED = {
    "hop": 1,
    "changed_from": "directed",
    "changed_to": "wrote the music of",
    "question": "When was the home town of the person who wrote the music of Lantern Bay settled?",
    "sub_question": "Who wrote the music of Lantern Bay?",
    "queries": ["music of Lantern Bay", "Lantern Bay composer"],
}


def reply(content: dict[str, Any]) -> Message:
    return Message(role="assistant", content=orjson.dumps(content).decode())


class Playing(Cast):
    """Reads as a careful person would: a premise is stated if a passage has its words."""

    def __init__(self, changed: dict[str, Any] | list[dict[str, Any]] = CHANGED, answers: str = NOT_FOUND) -> None:
        super().__init__(lambda question, sample: 3)
        self.changed = changed if isinstance(changed, list) else [changed]
        self.answers: Callable[[int], str] = lambda sample: answers
        self.state: dict[str, Any] | None = None
        self.weighs: Callable[[str], bool] = lambda answer: False
        self.inputs: list[dict[str, Any]] = []
        self.read = ""

    def __call__(self, request: Request) -> Message:
        role = get_role(request)
        inputs = (prompts.unfence(request.messages[-1].content) or {}) if request.output else {}
        if role == "change":
            self.inputs.append(inputs)
            return reply(self.changed[min(len(self.inputs), len(self.changed)) - 1])
        if role == "absent":
            stating = [p["id"] for p in inputs["passages"] if "music" in p["text"]]
            return reply(self.state or {"state": "stated" if stating else "unstated", "passages": stating})
        if role == "read" and "music" in inputs["question"]:
            return reply({"answer": self.read})
        if role == "weigh" and "music" in inputs["question"]:
            return reply({"fits": self.weighs(inputs["answer"])})
        question = "" if request.output else request.messages[1].content
        if role == "answer" and question != QUESTION:
            turns = sum(message.role == "assistant" for message in request.messages)
            if turns < 2:
                return call("search", query=["music of Lantern Bay", "Lantern Bay"][turns])
            return call("answer", answer=self.answers(request.sample))
        return super().__call__(request)


def make_context(cast: Callable[[Request], Message], *sets: str, shelf: Shelf | None = None) -> RunContext:
    settings = config.build(sets=[*SETS, *sets])
    shelf = shelf or Shelf(FILM, HOLM, TOWN)
    return RunContext(config=settings, llm=ScriptedLLM(cast), retriever=shelf, lineage=LINEAGE)


def run_with_twin(cast: Playing, *sets: str, shelf: Shelf | None = None) -> Record:
    return asyncio.run(run_episode(make_seed(), make_context(cast, *sets, shelf=shelf)))


def get_twin(cast: Playing, *sets: str, shelf: Shelf | None = None) -> Twin:
    record = run_with_twin(cast, *sets, shelf=shelf)
    assert record.status is Status.ACCEPTED
    assert record.twin is not None
    return record.twin
