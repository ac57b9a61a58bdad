"""Scripted casts for the loop: a small corpus, models that play every role, and runs of one seed."""

import asyncio
from collections.abc import Callable
from typing import Any

import orjson

from pipeline import config, prompts
from pipeline.context import RunContext
from pipeline.llm.base import LLM, Request
from pipeline.loop.episode import run_seed
from pipeline.retrieval.base import Retriever
from pipeline.types import Lineage, Message, Record, Seed, ToolCall
from tests.graph_drafts import chain, step
from tests.passages import Shelf, passage
from tests.scripted_llm import ScriptedLLM

FILM = passage("film", "Lantern Bay", "It is a silent drama. It was directed by Ada Holm.")
HOLM = passage("holm", "Ada Holm", "Ada Holm was a painter. Ada Holm came from Vessby.")
TOWN = passage("town", "Vessby", "Vessby lies on the Tarn. Vessby was founded by monks around 1641.")
SHELF = Shelf(FILM, HOLM, TOWN)
QUESTION = "When was the home town of the person who directed Lantern Bay settled?"
PATHS = {  # the searches of a solver, one per step
    -1: ["Lantern Bay"],
    1: ["founded monks"],
    2: ["Lantern Bay", "founded monks"],
    3: ["Lantern Bay", "Ada Holm painter", "Vessby lies"],
    4: ["Lantern Bay", "silent drama", "Ada Holm painter", "Vessby lies"],
    5: ["Lantern Bay", "silent drama", "directed", "founded monks"],  # many, and none for the second hop
}
LINEAGE = Lineage(
    run="r", preset="default", strategy="sage", model="scripted", demo_solver=None, corpus="shelf",
    corpus_fingerprint="0" * 64, licence="CC0-1.0", attribution="", retriever="shelf",
)  # fmt: skip


def make_proposal(question: str = QUESTION, **update: Any) -> dict[str, Any]:
    steps = chain(
        step(FILM, "Ada Holm", "Who directed Lantern Bay?"),
        step(HOLM, "Vessby", "Where did {film} grow up?"),
        step(TOWN, "1641", "When was {holm} settled?"),
    )
    return {"question": question, "steps": steps} | update


def call(name: str, **arguments: Any) -> Message:
    return Message(
        role="assistant", tool_calls=(ToolCall(id="x", name=name, arguments=orjson.dumps(arguments).decode()),)
    )


def get_role(request: Request) -> str:
    """Return what a request asks for: the name of its output or of its last tool."""
    return request.output.name if request.output else request.tools[-1].name


class Cast:
    """Plays all roles. `paths(question, sample)` is the solver's number of steps, or 0 or less for a wrong answer."""

    def __init__(self, paths: Callable[[str, int], int], revisions: list[dict[str, Any]] = []) -> None:  # noqa: B006
        self.paths, self.revisions, self.feedback = paths, list(revisions), list[dict[str, Any]]()
        self.first = make_proposal()
        self.reads: Callable[[int], str] = lambda passages: "1641" if passages == 3 else ""
        self.fits = False

    def __call__(self, request: Request) -> Message:
        turns = [m for m in request.messages if m.role == "assistant"]
        role = get_role(request)
        if role == "verdict":
            return Message(role="assistant", content='{"correct": false}')
        if role in ("steps", "choose"):
            fields = {"faults": []} if role == "steps" else {"grades": [5, 5], "best": 1}
            return Message(role="assistant", content=orjson.dumps(fields).decode())
        if role in ("read", "weigh"):
            inputs = prompts.unfence(request.messages[1].content) or {}
            fields = {"fits": self.fits} if role == "weigh" else {"answer": self.reads(len(inputs.get("passages", ())))}
            return Message(role="assistant", content=orjson.dumps(fields).decode())
        if role == "answer":
            return self.solve(request.messages[1].content, request.sample, len(turns))
        searches = [call("search", query=q) for q in ("Ada Holm painter", "Vessby Tarn")]
        if len(turns) < len(searches) and role == "propose":
            return searches[len(turns)]
        if role == "propose":
            return call("propose", **self.first)
        self.feedback.append((prompts.unfence(request.messages[1].content) or {})["drafts"][-1]["feedback"])
        return call("revise", **self.revisions.pop(0))

    def solve(self, question: str, sample: int, turn: int) -> Message:
        queries = PATHS[self.paths(question, sample) or 3]
        if turn < len(queries):
            return call("search", query=queries[turn])
        return call("answer", answer="1641" if self.paths(question, sample) > 0 else "in 1999")


def make_seed(target: int = 3) -> Seed:
    return Seed(key="ab" * 32, passage=FILM, draw=0, side="train", target_steps=target)


def make_context(
    llm: LLM | Callable[[Request], Any], *sets: str, retriever: Retriever = SHELF, **values: Any
) -> RunContext:
    """Make the context of a run whose requests `llm` answers."""
    settings = config.build(
        values={"strategy": "sage", **values}, sets=["retrieval.k=1", "difficulty.adversarial=false", *sets]
    )
    llm = ScriptedLLM(llm) if callable(llm) else llm
    return RunContext(config=settings, llm=llm, retriever=retriever, lineage=LINEAGE)


def run(cast: Callable[[Request], Any], *sets: str, target: int = 3, **values: Any) -> Record:
    return asyncio.run(run_seed(make_seed(target), make_context(cast, *sets, **values)))


CHECKS = 'checks.enabled=["closed_book", "oracle", "alternatives"]'
