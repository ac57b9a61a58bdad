"""A blind reader sees only the hits of a search and says which passage was written for the pair."""

import asyncio
from collections.abc import Callable

import orjson

from pipeline import config, prompts
from pipeline.context import RunContext
from pipeline.distractors.checks import CHECKS, DistractorChecks
from pipeline.llm.base import Request
from pipeline.types import Distractor, Message
from pipeline.types.distractor import Kind
from tests.distractors.pair import DRAFT, FILM, HOLM, MILL, SHELF, TOWN, answer_as_reader, make_sound, run_checks
from tests.loop.cast import LINEAGE
from tests.scripted_llm import ScriptedLLM

REAL = ["models.reader.provider=openai", "models.reader.model=large", "models.reader.base_url=http://127.0.0.1:9/v1"]


def check_blindly(
    name: Callable[[int, list[str]], str], *sets: str, kind: Kind = Kind.DOPPELGANGER, last: bool = False
) -> tuple[Distractor, ScriptedLLM]:
    """Check a distractor with a reader whose n-th blind reading names `name(n, shown ids)`."""

    def play(request: Request) -> Message:
        if request.output and request.output.name == "detect":
            passages = (prompts.unfence(request.messages[-1].content) or {})["passages"]
            passage_id = name(request.sample // 3, [passage["id"] for passage in passages])
            return Message(
                role="assistant",
                content=orjson.dumps({"reason": "It repeats the query.", "passage_id": passage_id}).decode(),
            )
        return answer_as_reader(request)

    model = ScriptedLLM(play)
    settings = config.build(sets=["retrieval.k=2", *REAL, *sets])
    context = RunContext(config=settings, llm=model, retriever=SHELF, lineage=LINEAGE)
    return asyncio.run(DistractorChecks(DRAFT, context).check(make_sound(kind), last=last)), model


def test_a_distractor_that_a_blind_reader_always_names_is_refused_with_its_reason() -> None:
    shown_id = make_sound(Kind.DOPPELGANGER).passage.shown_id
    checked_one, _ = check_blindly(lambda reading, ids: shown_id)
    assert (checked_one.reason, checked_one.blind) == ("blind", (True, True, True))
    assert "It repeats the query." in checked_one.checks[-1].detail


def test_the_last_attempt_is_used_despite_its_blind_readings() -> None:
    shown_id = make_sound(Kind.DOPPELGANGER).passage.shown_id
    checked_one, _ = check_blindly(lambda reading, ids: shown_id, last=True)
    assert checked_one.used
    assert checked_one.blind == (True, True, True)
    assert "It repeats the query." in checked_one.checks[-1].detail


def test_a_distractor_that_the_blind_reader_misses_once_is_used() -> None:
    shown_id = make_sound(Kind.DOPPELGANGER).passage.shown_id
    checked_one, _ = check_blindly(lambda reading, ids: TOWN.shown_id if reading == 1 else f"[{shown_id}]")
    assert checked_one.used
    assert checked_one.blind == (True, False, True)
    assert [check.name for check in checked_one.checks] == list(CHECKS)


def test_the_blind_reader_sees_only_the_hits_in_another_order_each_time() -> None:
    distractor = make_sound(Kind.DOPPELGANGER)
    checked_one, model = check_blindly(lambda reading, ids: ids[0])
    requests = [r for r in model.requests if r.output and r.output.name == "detect"]
    inputs = [prompts.unfence(request.messages[-1].content) or {} for request in requests]
    assert [set(entry) for entry in inputs] == 3 * [{"passages"}]
    orders = [tuple(passage["id"] for passage in entry["passages"]) for entry in inputs]
    assert len(set(orders)) > 1
    assert {frozenset(order) for order in orders} == {
        frozenset(p.shown_id for p in (distractor.passage, FILM, HOLM, TOWN, MILL)) & frozenset(orders[0])
    }
    assert distractor.passage.shown_id in orders[0]
    assert TOWN.shown_id in orders[0]
    assert checked_one.blind == tuple(order[0] == distractor.passage.shown_id for order in orders)


def test_the_demo_reader_makes_no_blind_reading() -> None:
    assert run_checks(make_sound(Kind.DOPPELGANGER)).blind == ()


def test_an_unreadable_blind_reader_passes_nothing() -> None:
    def mute(request: Request) -> Message:
        blind = request.output and request.output.name == "detect"
        return Message(role="assistant", content="hm") if blind else answer_as_reader(request)

    settings = config.build(sets=["retrieval.k=2", *REAL])
    context = RunContext(config=settings, llm=ScriptedLLM(mute), retriever=SHELF, lineage=LINEAGE)
    checked_one = asyncio.run(DistractorChecks(DRAFT, context).check(make_sound(Kind.DOPPELGANGER)))
    assert (checked_one.reason, checked_one.blind) == ("blind", ())
