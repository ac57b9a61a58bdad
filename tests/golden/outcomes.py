"""A scripted model that ends one seed in every possible way: each status, reason, cause and stop.

Seeds are named after their outcome. A case says what its generator, solver and readers do; the rest is as in an
accepted case.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from pipeline import prompts
from pipeline.config import build
from pipeline.context import RunContext
from pipeline.corpus.train_eval_split import side
from pipeline.llm import deadline, ledger
from pipeline.llm.base import Completion, Finish, Request
from pipeline.types import Lineage, Message, Passage, ToolCall, Usage
from tests.golden import places, runs
from tests.passages import Shelf, passage
from tests.run.fakes import FACT, FakeCorpus

# In words, since of two bare numbers no judge is asked.
WRONG = ("in 1999", "in 1998", "in 1997", "in 1996")
STUDENT = "student"
"""The model to be trained."""
Solves = Callable[[int, int], int | str]
"""By round and sample: how many searches it makes, how many before a wrong answer (less than 0), or what goes wrong."""


def name(passage_id: str) -> str:
    """Return the name of the case whose seed starts at this passage."""
    return passage_id.rpartition("#")[0].rpartition("-")[0]


def document(name: str, of: str) -> str:
    """Return an id that begins with the name and is on that side of the split."""
    return next(document_id for n in range(1000) if side(document_id := f"{name}-{n}") == of)


def step(step_id: str, sub_question: str, answer: str, passage: Passage, **fields: Any) -> dict[str, Any]:
    """Return a step as a generator hands it in, which cites the second sentence of a passage."""
    citation = {"answer": answer, "passage_id": passage.shown_id, "sentences": [2]}
    return {"id": step_id, "sub_question": sub_question, **citation, **fields}


@dataclass(frozen=True)
class Chain:
    """A film, who directed it, and their home town: three passages and the question over them."""

    film: Passage
    person: Passage
    town: Passage
    year: str
    origin: str
    """How the passage of the town tells its origin, in plain words."""

    def draft(self, **changed: Any) -> dict[str, Any]:
        film, town = self.film.title, "the home town of the person who directed"
        steps = [
            step("director", f"Who directed {film}?", self.person.title, self.film),
            step("town", "Where did {director} grow up?", self.town.title, self.person, needs=["director"]),
            step("year", "When was {town} settled?", self.year, self.town, needs=["town"]),
        ]
        return {"question": f"When was {town} {film} settled?", "steps": steps, **changed}

    @property
    def queries(self) -> list[str]:
        """Return a query for each passage in order, one without hits, and one with a year that no passage shows."""
        town = f"{self.town.title} {self.origin} {self.year}"
        return [self.film.title, f"{self.person.title} painter", self.origin, "silent drama", town]


def make_chain(of: str, film: str, person: str, town: str, year: str, origin: str) -> Chain:
    return Chain(
        passage(document("film", of), film, f"It is a silent drama. It was directed by {person}."),
        passage(document("person", of), person, f"{person} was a painter. {person} came from {town}."),
        passage(document("town", of), town, f"{town} lies on the Tarn. {town} was {origin} around {year}."),
        year,
        origin,
    )


TRAIN = make_chain("train", "Lantern Bay", "Ada Holm", "Vessby", "1641", "founded by monks")
EVAL = make_chain("eval", "Copper Moon", "Ivo Brandt", "Kestrel", "1702", "begun by friars")
TOLD = passage("told", "Ada Holm (painter)", "Ada Holm lived long after Lantern Bay. Ada Holm came from Vessby.")
SHELF = Shelf(*(p for c in (TRAIN, EVAL) for p in (c.film, c.person, c.town)), TOLD)


def reads(passages: int) -> str:
    """Answer only if all three passages of the chain are shown."""
    return "right" if passages == 3 else ""


@dataclass(frozen=True)
class Case:
    """`ends`: status and reason. `causes`: of the feedback of each round, in their order."""

    ends: tuple[str, str] = ("accepted", "")
    causes: tuple[str, ...] = ()
    drafts: tuple[dict[str, Any] | str, ...] = (TRAIN.draft(),)
    """Of each round; the last one is worded anew for those after it."""
    solves: Solves = lambda past, sample: 3
    learns: Solves | None = None
    """What the model to be trained does, where it is not as the solver."""
    reads: Callable[[int], str] = reads
    fits: bool = False
    turn_tokens: int = 100
    """Prompt tokens of each turn of the generator."""
    unstated: str = ""
    """The step whose answer a reader finds in no cited sentence."""
    grade: int = 4
    """Of the question's wording."""
    changes: bool | None = None
    """Does the answer change with time?"""
    chain: Chain = TRAIN


class Player:
    """Plays all roles of the case whose seed asks."""

    def __init__(self, cases: dict[str, Case]) -> None:
        self.cases = cases

    async def complete(self, request: Request) -> Completion:
        case = self.cases[name(places.now())]
        role = ledger.role(request)
        turn = sum(message.role == "assistant" for message in request.messages)
        if role in ("propose", "revise"):
            completion = get_arguments(self._draft(case, role, turn))
            usage = completion.usage.model_copy(update={"prompt_tokens": case.turn_tokens})
            return completion.model_copy(update={"usage": usage})
        if role == "answer":
            stage = ledger._stage.get()
            does = case.learns if case.learns and request.model == STUDENT else case.solves
            past = int(stage.partition("round ")[2] or -1)
            return await self._solve(case, does(past, request.sample), request.sample, turn)
        inputs = prompts.unfence(request.messages[1].content) or {}
        return get_arguments(self._read(case, role, inputs))

    def _draft(self, case: Case, role: str, turn: int) -> Message:
        searches = (*case.chain.queries[:3], "lived long")
        if role == "propose" and turn < len(searches):
            return call("search", query=searches[turn])
        past = int(ledger._stage.get().partition("round ")[2])
        draft = case.drafts[min(past, len(case.drafts) - 1)]
        if isinstance(draft, str):
            return Message(role="assistant", content=draft)
        if past >= len(case.drafts):
            draft = {**draft, "question": f"{draft['question'][:-1]}, {'or so, ' * past}roughly?"}
        return call(role, **draft)

    def _read(self, case: Case, role: str, inputs: dict[str, Any]) -> Message:
        if role == "verdict":
            unreadable = case.ends[1] == "no_verdict"
            return Message(role="assistant", content="hm" if unreadable else '{"correct": false}')
        tree: dict[str, Any] = {"answers": [case.chain.person.title]}
        if role == "weigh":
            tree = {"fits": case.fits}
        elif role == "steps":
            tree = {"faults": [{"step": case.unstated, "fault": "unstated"}] if case.unstated else []}
        elif role == "choose":
            tree = {"faults": ["as one would ask it or not"], "grades": [case.grade], "best": 1}
            tree |= {} if case.changes is None else {"changes_with_time": case.changes}
        elif role == "commit":
            tree = {"fits": [passage["id"] for passage in inputs["passages"]]}
        elif role == "read":
            titles = {case.chain.film.title, case.chain.person.title, case.chain.town.title}
            answer = case.reads(sum(passage["title"] in titles for passage in inputs.get("passages", ())))
            tree = {"answer": case.chain.year if answer == "right" else answer}
        return Message(role="assistant", content=orjson.dumps(tree).decode())

    async def _solve(self, case: Case, does: int | str, sample: int, turn: int) -> Completion:
        if isinstance(does, str):
            return await end_without_answer(does, turn)
        right, paths = does > 0, {1: [2], 2: [0, 2], 3: [0, 1, 2], 4: [0, 3, 1, 2], 5: [0], 6: [0, 1, 4]}
        path = paths[abs(does)]
        if turn < len(path):
            return get_arguments(call("search", query=case.chain.queries[path[turn]]))
        return get_arguments(
            call("answer", answer=case.chain.year if right else WRONG[sample % 4 if abs(does) == 4 else 0])
        )


async def end_without_answer(does: str, turn: int) -> Completion:
    """Play a solver that ends without an answer."""
    search = call("search", query=f"search number {turn}")
    if does == "slow":
        if clock := deadline._clock.get():
            clock._reschedule(asyncio.get_running_loop().time())
        await asyncio.sleep(60)
    if does == "context":
        return Completion(message=Message(role="assistant"), finish=Finish.CONTEXT, usage=Usage(calls=1))
    if does == "tokens":
        return Completion(message=search, finish=Finish.TOOL_CALLS, usage=Usage(calls=1, prompt_tokens=150_000))
    if does == "cut":
        return Completion(message=Message(role="assistant"), finish=Finish.LENGTH, usage=Usage(calls=1))
    if does == "repeats":
        return get_arguments(call("search", query="Lantern Bay"))
    if does == "budget":
        return get_arguments(search if turn < 6 else call("answer", answer=TRAIN.year))
    return get_arguments(
        call("search", query="Lantern Bay") if turn % 2 else Message(role="assistant", content="Well.")
    )


def get_arguments(message: Message) -> Completion:
    finish = Finish.TOOL_CALLS if message.tool_calls else Finish.STOP
    return Completion(message=message, finish=finish, usage=Usage(calls=1, prompt_tokens=100, completion_tokens=10))


def call(name: str, **arguments: Any) -> Message:
    tool_call = ToolCall(id="x", name=name, arguments=orjson.dumps(arguments).decode())
    return Message(role="assistant", tool_calls=(tool_call,))


def play(cases: dict[str, Case], sets: Sequence[str], out: Path) -> tuple[Path, runs.Pinned]:
    """Run one seed for each case. Return the run's folder and configuration."""
    scripted = {"provider": "openai", "model": "scripted", "base_url": "http://127.0.0.1:9/v1"}
    values = {
        "corpus": {"name": "tiny"},
        "models": {"default": scripted, "policies": {"mine": {**scripted, "model": STUDENT}}},
        "strategy": "sage",
        "gates": {"off": ["duplicate", "overused_answer", "overused_document", "overused_opening", "overused_passage"]},
        "runtime": {"seeds": len(cases), "out": out, "rollout_seconds": 600},
    }
    fixed = [
        "steps=3",
        "difficulty.aims={3=1}",
        "retrieval.k=1",
        "loop.rounds=2",
        "solver.searches=6",
        "solver.turns=7",
    ]
    settings = runs.Pinned.model_validate(build(values=values, sets=[*fixed, *sets]).model_dump())
    sides = {name: side(case.chain.film.document_id) for name, case in cases.items()}
    seeds = [passage(document(name, of), name.replace("_", " "), FACT * 3) for name, of in sides.items()]
    context = RunContext(
        config=settings,
        llm=ledger.Counted(Player(cases)),
        retriever=SHELF,
        lineage=Lineage(
            run="scripted",
            preset="default",
            strategy="sage",
            model="scripted",
            demo_solver=None,
            corpus="tiny",
            corpus_fingerprint="f" * 64,
            licence="CC0-1.0",
            attribution="",
            retriever="shelf",
        ),
    )
    return runs.run_all_stages(context, FakeCorpus(tuple(seeds))), settings
