"""The benches that judge can be failed: each fault planted in a good pair is found, each limit can be broken."""

from typing import Any

import httpx2
import pytest

from bench import endpoint, guesser, recheck, weak_reader
from bench.common import interval, table
from bench.endpoint import get_json, run_endpoints
from pipeline.config import build
from pipeline.context import RunContext
from pipeline.llm.base import Request
from pipeline.types import AnswerType, Distractor, DistractorCheck, DistractorEval, Hop, Record
from tests import records
from tests.graphs import chained, changed
from tests.loop.cast import LINEAGE
from tests.scripted import ScriptedLLM
from tests.shelf import Shelf, passage

GOOD = records.accepted()
WORLD = records.world(0)
PASSAGES = (WORLD.bridge, WORLD.engineer, WORLD.town, *WORLD.noise)
TEXTS = {passage.document_id: recheck.Text(passage.title, passage.text) for passage in PASSAGES}


def altered(hop: int | None = None, **values: Any) -> Record:
    """The good record with another draft, or another hop of it."""
    assert GOOD.draft
    if hop is not None:
        hops = list(GOOD.draft.hops)
        hops[hop] = hops[hop].model_copy(update=values)
        values = {"hops": hops}
    last = GOOD.rounds[-1].model_copy(update={"draft": changed(GOOD.draft, **values)})
    return GOOD.model_copy(update={"rounds": (*GOOD.rounds[:-1], last)})


def test_a_good_pair_passes_the_recheck() -> None:
    assert recheck.faults(GOOD, TEXTS) == []


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        (altered(0, quote="Nothing of the kind."), "quote is not in the document"),
        (altered(0, passage_sha256="0" * 64), "SHA-256"),
        (altered(1, passage_id="nowhere#0"), "no document"),
        (altered(1, passage_id=f"{WORLD.engineer.document_id}#1"), "passage 1 starts"),
        (altered(1, title="Another"), "title"),
        (altered(1, answer="Somebody Else"), "neither quote nor title"),
        (altered(answer="2222", answer_aliases=()), "not in the last quote"),
        (altered(question=f"Which town was founded in {WORLD.year}?"), "holds the answer"),
        (altered(question=f"When was {WORLD.town.title} founded?"), "names"),
        (altered(2, passage_id=WORLD.engineer.id), "rest on one passage"),
        (GOOD.model_copy(update={"confirmation_verdicts": ()}), "confirmed in []"),
        (GOOD.model_copy(update={"seed": GOOD.seed.model_copy(update={"target_steps": 9})}), "target 9"),
    ],
)
def test_a_planted_fault_is_found(record: Record, fault: str) -> None:
    assert any(fault in found for found in recheck.faults(record, TEXTS))


def test_the_guesser_knows_what_is_asked_for() -> None:
    question = "In what year after 1520 was the market town of the northern fells founded by monks?"
    assert guesser.answer_pattern("How many bridges are there?") is guesser.COUNT
    assert guesser.answer_pattern("Who designed the bridge?") is guesser.NAME
    assert guesser.spans(question, WORLD.town) == [WORLD.year]


def test_figures_are_what_they_say() -> None:
    few = interval([0.0, 1.0] * 50, lambda x: sum(x) / len(x))
    assert few.value == 0.5
    assert few.low > 0.3
    assert few.high < 0.7
    assert table(("a", "b"), [("xx", 1)]).splitlines()[-1] == "xx  1"


def test_a_simulated_endpoint_meets_its_fate() -> None:
    body = {"response_format": {"json_schema": {"name": "verdict"}}}

    def asked(url: str) -> int:
        try:
            return httpx2.post(f"{url}/chat/completions", json=body).status_code
        except httpx2.TransportError:
            return 0

    with run_endpoints(0.0, "steady", "dies:2", "busy:0:1", "busy:60:1") as line:
        urls = line.split()
        assert [[asked(url) for _ in range(3)] for url in urls] == [[200] * 3, [200, 200, 0], [429] * 3, [200] * 3]
        stats = [get_json(url, "stats") for url in (urls[0], urls[2])]
    assert [(one["answered"], len(one["times"]), one["throttled"]) for one in stats] == [(3, 3, 0), (0, 0, 3)]


def test_the_rate_is_that_of_the_middle_of_a_job() -> None:
    start, middle, end = [0.0, 50.0], [50 + n / 4 for n in range(1, 17)], [100.0, 200.0]
    assert endpoint.rate([*end, *middle, *start]) == pytest.approx(4.0)


async def test_a_weak_reader_is_asked_without_and_with_what_misleads_it() -> None:
    fog = passage("fog", "Sea Fog", "Sea Fog came out in 1934.")
    shelf = Shelf(fog, *(passage(f"n{n}", f"Sea {n}", f"Sea {n} came out in {1900 + n}.") for n in range(6)))
    hop = Hop(
        sub_question="", answer="1934", passage_id=fog.id, passage_sha256=fog.sha256, title=fog.title, quote=fog.text
    )
    draft = chained(question="When did Sea Fog come out?", answer="1934", answer_type=AnswerType.DATE, hops=(hop,))
    lie = Distractor(
        kind="doppelganger", title="Sea Fog: Fog", text="Sea Fog came out in 1951. Fog!", hop=0, claim="1951", mark="",
        source_id=fog.id, source_sha256=fog.sha256, checks=(DistractorCheck(name="marked", passed=True),),
    )  # fmt: skip
    last = GOOD.rounds[-1].model_copy(update={"draft": draft})
    record = GOOD.model_copy(update={"rounds": (last,), "distractor_eval": DistractorEval(distractors=(lie,))})

    def believes_the_first(request: Request) -> str:
        return request.messages[-1].content.split("[1] ")[1].split("[2] ")[0]

    context = RunContext(build(values={"retrieval": {"k": 3}}), ScriptedLLM(believes_the_first), shelf, LINEAGE)
    assert await weak_reader.read(record, context) == (True, False)
    assert await weak_reader.read(GOOD, context) is None, "of several steps"
