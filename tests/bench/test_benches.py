"""The benchmarks that judge can fail: they report each fault planted in a good pair, and figures mean what they say."""

from typing import Any

import httpx2
import pytest

from bench import endpoint, guesser, pool, recheck
from bench.common import bootstrap, format_table
from pipeline.types import Record
from tests import records
from tests.graph_drafts import changed
from tests.simulated_endpoint import DECODE, PREFILL, Load, get_json, run_endpoints

GOOD = records.accepted()
UNSOLVED = (GOOD.rounds[-1].model_copy(update={"rollouts": (), "verdicts": ()}),)
WORLD = records.world(0)
PASSAGES = (WORLD.bridge, WORLD.engineer, WORLD.town, *WORLD.noise)
TEXTS = {passage.document_id: recheck.Text(passage.title, passage.text) for passage in PASSAGES}


def change_record(hop_index: int | None = None, **values: Any) -> Record:
    """Copy the good record with another draft, or another hop of it."""
    assert GOOD.draft
    if hop_index is not None:
        hops = list(GOOD.draft.hops)
        hops[hop_index] = hops[hop_index].model_copy(update=values)
        values = {"hops": hops}
    last_round = GOOD.rounds[-1].model_copy(update={"draft": changed(GOOD.draft, **values)})
    return GOOD.model_copy(update={"rounds": (*GOOD.rounds[:-1], last_round)})


def test_recheck_passes_a_good_pair() -> None:
    assert recheck.find_faults(GOOD, TEXTS) == []
    assert recheck.find_faults(records.measured_in_its_round(GOOD), TEXTS) == []


@pytest.mark.parametrize(
    ("record", "fault"),
    [
        (change_record(0, quote="Nothing of the kind."), "quote is not in the document"),
        (change_record(0, passage_sha256="0" * 64), "SHA-256"),
        (change_record(1, passage_id="nowhere#0"), "no document"),
        (change_record(1, passage_id=f"{WORLD.engineer.document_id}#1"), "passage 1 starts"),
        (change_record(1, title="Another"), "title"),
        (change_record(1, answer="Somebody Else"), "neither quote nor title"),
        (change_record(answer="2222", answer_aliases=()), "not in the last quote"),
        (change_record(question=f"Which town was founded in {WORLD.year}?"), "holds the answer"),
        (change_record(question=f"When was {WORLD.town.title} founded?"), "names"),
        (change_record(2, passage_id=WORLD.engineer.id), "rest on one passage"),
        (GOOD.model_copy(update={"confirmation_verdicts": (), "rounds": UNSOLVED}), "solved in []"),
        (GOOD.model_copy(update={"seed": GOOD.seed.model_copy(update={"target_steps": 9})}), "target 9"),
    ],
)
def test_recheck_finds_a_planted_fault(record: Record, fault: str) -> None:
    assert any(fault in message for message in recheck.find_faults(record, TEXTS))


def test_guesser_recognizes_the_type_of_the_answer() -> None:
    question = "In what year after 1520 was the market town of the northern fells founded by monks?"
    assert guesser.answer_pattern("How many bridges are there?") is guesser.COUNT
    assert guesser.answer_pattern("Who designed the bridge?") is guesser.NAME
    assert guesser.find_spans(question, WORLD.town) == [WORLD.year]


def test_bootstrap_covers_the_mean_and_tables_align() -> None:
    interval = bootstrap([0.0, 1.0] * 50, lambda values: sum(values) / len(values))
    assert interval.value == 0.5
    assert interval.low > 0.3
    assert interval.high < 0.7
    assert format_table(("a", "b"), [("xx", 1)]).splitlines()[-1] == "xx  1"


def test_simulated_endpoints_behave_as_told() -> None:
    body = {"response_format": {"json_schema": {"name": "verdict"}}}

    def request_status(url: str) -> int:
        try:
            return httpx2.post(f"{url}/chat/completions", json=body).status_code
        except httpx2.TransportError:
            return 0

    with run_endpoints(0.0, "steady", "dies:2", "busy:0:1", "busy:60:1") as line:
        urls = line.split()
        statuses = [[request_status(url) for _ in range(3)] for url in urls]
        assert statuses == [[200] * 3, [200, 200, 0], [429] * 3, [200] * 3]
        steady, busy = get_json(urls[0], "stats"), get_json(urls[2], "stats")
    assert (steady["answered"], len(steady["end_times"]), steady["throttled"]) == (3, 3, 0)
    assert (busy["answered"], len(busy["end_times"]), busy["throttled"]) == (0, 0, 3)


def test_rate_measures_the_middle_of_a_job() -> None:
    start, middle, end = [0.0, 50.0], [50 + n / 4 for n in range(1, 17)], [100.0, 200.0]
    assert endpoint.compute_rate([*end, *middle, *start]) == pytest.approx(4.0)


def test_seconds_in_flight_count_only_between_two_moments() -> None:
    assert pool.sum_in_flight([0.0, 4.0, 9.0], [2.0, 6.0, 12.0], since=1.0, until=10.0) == pytest.approx(1 + 2 + 1)


def test_loaded_server_slows_with_calls_and_speeds_up_on_a_cached_prompt() -> None:
    load = Load(latency=2.0, limit=4)
    body = {"messages": [{"role": "system", "content": "a" * 50}, {"role": "user", "content": "b" * 50}]}
    first, repeated = load.admit(body, 1000, in_flight=0), load.admit(body, 1000, in_flight=4)
    assert (first[0], repeated[0]) == (0, 1000)
    assert (first[1], repeated[1]) == pytest.approx((2.0 * (PREFILL + DECODE), 2.0 * 2 * DECODE))
    assert load.cached_share == pytest.approx(0.5)
