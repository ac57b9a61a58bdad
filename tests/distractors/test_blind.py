"""A reader that has the hits of a search alone says which passage was written by somebody else."""

import asyncio
from collections.abc import Callable

import orjson

from pipeline import config, prompts
from pipeline.context import RunContext
from pipeline.distractors.checks import CHECKS, DistractorChecks
from pipeline.llm.base import Request
from pipeline.types import Distractor, Message
from pipeline.types.distractor import Kind
from tests.distractors.test_checks import DRAFT, FILM, HOLM, MILL, SHELF, TOWN, checked, reader, sound
from tests.loop.cast import LINEAGE
from tests.scripted import ScriptedLLM

REAL = ["models.reader.provider=openai", "models.reader.model=large", "models.reader.base_url=http://127.0.0.1:9/v1"]


def blindly(
    name: Callable[[int, list[str]], str], *sets: str, kind: Kind = Kind.DOPPELGANGER, last: bool = False
) -> tuple[Distractor, ScriptedLLM]:
    """The checks with a reader whose n-th blind reading names `name(n, shown ids)`."""

    def play(request: Request) -> Message:
        if request.output and request.output.name == "detect":
            given = (prompts.unfence(request.messages[-1].content) or {})["passages"]
            named = name(request.sample // 3, [passage["id"] for passage in given])
            return Message(
                role="assistant",
                content=orjson.dumps({"reason": "It repeats the query.", "passage_id": named}).decode(),
            )
        return reader(request)

    model = ScriptedLLM(play)
    settings = config.build(sets=["retrieval.k=2", *REAL, *sets])
    context = RunContext(config=settings, llm=model, retriever=SHELF, lineage=LINEAGE)
    return asyncio.run(DistractorChecks(DRAFT, context).check(sound(kind), last=last)), model


def test_one_that_a_blind_reader_names_every_time_is_refused_with_the_readers_reason() -> None:
    own = sound(Kind.DOPPELGANGER).passage.shown_id
    made, _ = blindly(lambda reading, ids: own)
    assert (made.reason, made.blind) == ("blind", (True, True, True))
    assert "It repeats the query." in made.checks[-1].detail


def test_of_the_last_try_it_refuses_nothing_and_what_it_said_is_kept() -> None:
    own = sound(Kind.DOPPELGANGER).passage.shown_id
    made, _ = blindly(lambda reading, ids: own, last=True)
    assert made.used
    assert made.blind == (True, True, True)
    assert "It repeats the query." in made.checks[-1].detail


def test_one_that_it_misses_once_is_used_and_the_readings_are_kept() -> None:
    own = sound(Kind.DOPPELGANGER).passage.shown_id
    made, _ = blindly(lambda reading, ids: TOWN.shown_id if reading == 1 else f"[{own}]")
    assert made.used
    assert made.blind == (True, False, True)
    assert [check.name for check in made.checks] == list(CHECKS)


def test_the_blind_reader_has_the_hits_alone_in_another_order_each_time() -> None:
    own = sound(Kind.DOPPELGANGER)
    made, model = blindly(lambda reading, ids: ids[0])
    asked = [r for r in model.requests if r.output and r.output.name == "detect"]
    inputs = [prompts.unfence(request.messages[-1].content) or {} for request in asked]
    assert [set(one) for one in inputs] == 3 * [{"passages"}]
    orders = [tuple(passage["id"] for passage in one["passages"]) for one in inputs]
    assert len(set(orders)) > 1
    assert {frozenset(order) for order in orders} == {
        frozenset(p.shown_id for p in (own.passage, FILM, HOLM, TOWN, MILL)) & frozenset(orders[0])
    }
    assert own.passage.shown_id in orders[0]
    assert TOWN.shown_id in orders[0]
    assert made.blind == tuple(order[0] == own.passage.shown_id for order in orders)


def test_the_demo_reader_is_asked_no_blind_reading() -> None:
    assert checked(sound(Kind.DOPPELGANGER)).blind == ()


def test_a_blind_reader_that_cannot_be_read_lets_nothing_pass() -> None:
    def mute(request: Request) -> Message:
        blind = request.output and request.output.name == "detect"
        return Message(role="assistant", content="hm") if blind else reader(request)

    settings = config.build(sets=["retrieval.k=2", *REAL])
    context = RunContext(config=settings, llm=ScriptedLLM(mute), retriever=SHELF, lineage=LINEAGE)
    made = asyncio.run(DistractorChecks(DRAFT, context).check(sound(Kind.DOPPELGANGER)))
    assert (made.reason, made.blind) == ("blind", ())
