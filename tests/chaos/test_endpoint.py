"""The loop over HTTP gives the same records as in process, whatever the endpoint does in between.

The server's model is the demo model, which sees only what came over the wire. A record that differs in one byte of a
message would show that the client changed it.
"""

import asyncio
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline import prompts
from pipeline.analysis import money
from pipeline.config import RunConfig, build
from pipeline.context import RunContext
from pipeline.corpus import Corpus
from pipeline.demo.role_dispatch import DemoModel
from pipeline.errors import BudgetExceeded, ProviderError
from pipeline.gates import load_gates
from pipeline.llm import retry
from pipeline.llm.base import Completion, Request
from pipeline.loop.episode import run_seed
from pipeline.run import Run, attempts, prepare, publish
from pipeline.run.plan import Order
from pipeline.types import Record, Seed, Status
from tests.chaos.faulty_server import FAULTS, PAGE, FaultyServer, Reply
from tests.conftest import Figures
from tests.run.fakes import RunCallbacks

SEEDS, MOST_PLANNED = 12, 400
BAD = Reply(502, PAGE), Reply(cut=-1), Reply(200, PAGE), Reply(403)
SETTINGS: dict[str, Any] = {
    "corpus": {"name": "tiny"},
    "retrieval": {"retriever": "bm25"},
    "loop": {"rounds": 1, "rollouts": 2},
    "checks": {"enabled": ["closed_book", "oracle"]},
    "steps": [1, 2],
}


@dataclass(frozen=True)
class Ground:
    """The seeds, and what the demo model makes of them in this process."""

    context: RunContext
    corpus: Corpus
    seeds: tuple[Seed, ...]
    records: list[Record]
    seconds: float


@pytest.fixture(scope="module")
def ground(tiny: Corpus, tmp_path_factory: pytest.TempPathFactory) -> Ground:
    config = build(values={**SETTINGS, "runtime": {"out": tmp_path_factory.mktemp("here")}})
    context, order = prepare.context(config, tiny), Order(config, tiny)
    planned = (order[index].seed for index in range(MOST_PLANNED))
    # Every change of the embedded generator draws another plan; what is compared needs both endings.
    good = next(seed for seed in planned if asyncio.run(run_seed(seed, context)).status is Status.ACCEPTED)
    seeds = tuple(dict.fromkeys([good, *(order[index].seed for index in range(SEEDS))]))[:SEEDS]
    began = time.monotonic()
    records = asyncio.run(_run_seeds(seeds, context))
    assert {Status.ACCEPTED, Status.REJECTED} == {record.status for record in records}
    return Ground(context, tiny, seeds, records, time.monotonic() - began)


async def _run_seeds(seeds: Iterable[Seed], context: RunContext) -> list[Record]:
    return list(await asyncio.gather(*(run_seed(seed, context) for seed in seeds)))


def make_config(server: FaultyServer, out: Path, **how: Any) -> RunConfig:
    limits = {"timeout_seconds": 5.0, "concurrency": 8}
    model = {"provider": "openai", "model": "embedded", "base_url": server.url, "limits": limits}
    prices = {"prompt": 1.0, "completion": 2.0}
    return build(
        values={**SETTINGS, "models": {"default": {**model, "prices": prices}}, "runtime": {"out": out, **how}}
    )


def context(server: FaultyServer, ground: Ground, out: Path) -> RunContext:
    """Make a context over the wire, with the lineage of the records that are compared."""
    return replace(prepare.context(make_config(server, out), ground.corpus), lineage=ground.context.lineage)


@pytest.mark.slow
async def test_the_loop_over_http_gives_the_same_records(ground: Ground, tmp_path: Path) -> None:
    async with FaultyServer() as server:
        assert await _run_seeds(ground.seeds, context(server, ground, tmp_path)) == ground.records
        paid = len(server.asked)
        assert await _run_seeds(ground.seeds, context(server, ground, tmp_path)) == ground.records
        assert len(server.asked) == paid
    check_prefixes(server.asked)
    # Generator and solver may make several calls a turn, but where one is forced.
    turns = [body for body in server.asked if "tools" in body]
    assert {body["tools"][-1]["function"]["name"] for body in turns} == {"propose", "answer"}
    assert all(body.get("parallel_tool_calls", True) is (body["tool_choice"] == "auto") for body in turns)


async def test_paid_calls_equal_the_requests_of_the_server(ground: Ground, tmp_path: Path) -> None:
    async with FaultyServer() as server:
        config = make_config(server, tmp_path, seeds=SEEDS)
        await run(config, ground)
        request_count = len(server.asked)
    spending = attempts.total_spending(config.folder())
    assert spending.total.paid.calls == request_count
    assert {"round 0", "seekers"} <= set(spending.stages) <= {"round 0", "round 1", "confirmation", "seekers"}
    assert spending.total.money == pytest.approx(sum(spent.money or 0 for spent in spending.stages.values()))
    tokens = spending.total.paid
    assert spending.total.money == pytest.approx((tokens.prompt_tokens + 2 * tokens.completion_tokens) / 1e6)
    publish.dataset(config.folder(), config)
    page, card = publish.report(config.folder(), config), config.folder() / "dataset" / "README.md"
    for text in (page.read_text(), card.read_text()):
        assert all(name in text for name in (*spending.stages, "solver", money.money(spending.total.money)))


def check_prefixes(bodies: list[dict[str, Any]]) -> None:
    """Check that every request begins with the bytes of the previous turn: system prompt, tools and messages."""
    openings = {(_bytes(body.get("tools")), _bytes(body["messages"])) for body in bodies}
    later = [body for body in bodies if len(body["messages"]) > 2]
    assert later
    for body in later:
        assert body["messages"][0]["role"] == "system"
        tools = _bytes(body["tools"])
        assert any((tools, _bytes(body["messages"][:n])) in openings for n in range(2, len(body["messages"])))
    assert len({_bytes(body["messages"][0]) for body in bodies}) <= len(prompts.names())
    assert len({_bytes(body.get("tools")) for body in bodies}) <= 4


def _bytes(tree: Any) -> bytes:
    return orjson.dumps(tree)


async def run(config: RunConfig, ground: Ground) -> tuple[RunCallbacks, list[Record]]:
    watch, place = RunCallbacks(), prepare.context(config, ground.corpus)
    with Run(config, ground.corpus) as under_way:
        await under_way.execute(lambda seed: run_seed(seed, place), watch)
        return watch, list(under_way.records())


@pytest.mark.parametrize("chance", [0, *(pytest.param(n, marks=pytest.mark.chaos) for n in range(10))])
async def test_broken_answers_change_no_record(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chance: int
) -> None:
    monkeypatch.setattr(retry, "BASE", 0.05)
    async with FaultyServer(rate=0.3, seed=chance) as server:
        assert await _run_seeds(ground.seeds, context(server, ground, tmp_path)) == ground.records
    # How many calls there are, and so how many faults, depends on the plan, which the generator's digest draws.
    assert sum(server.counts[fault] for fault in FAULTS) >= 5


class Remote:
    """The demo model as far away as a real one is, or all that a run took would be its waits after faults."""

    async def complete(self, request: Request) -> Completion:
        await asyncio.sleep(0.2)
        return await DemoModel().complete(request)


def make_hundred_config(server: FaultyServer, out: Path) -> RunConfig:
    """Make a configuration for a hundred pairs of about forty calls. Gates are off, as the corpus is so small."""
    config = make_config(server, out, pairs=100)
    loop = config.loop.model_copy(update={"audit": False, "rounds": 0, "rollouts": 4})
    checks = config.checks.model_copy(update={"enabled": ()})
    gates = config.gates.model_copy(update={"off": tuple(load_gates())})
    return config.model_copy(update={"loop": loop, "checks": checks, "gates": gates, "steps": (1, 1)})


@pytest.fixture(scope="module")
def undisturbed_run(ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Record], float]:
    """Run the hundred pairs over an endpoint that never fails. Return records and seconds."""

    async def run_calmly() -> list[Record]:
        async with FaultyServer(model=Remote()) as calm:
            return (await run(make_hundred_config(calm, tmp_path_factory.mktemp("calm")), ground))[1]

    start = time.monotonic()
    records = asyncio.run(run_calmly())
    return records, time.monotonic() - start


@pytest.mark.chaos
@pytest.mark.parametrize("chance", [1, 2, 3])
async def test_a_hundred_pairs_survive_mixed_faults(
    ground: Ground, undisturbed_run: tuple[list[Record], float], tmp_path: Path, figures: Figures, chance: int
) -> None:
    async with FaultyServer(model=Remote(), rate=0.3, seed=chance) as server:
        start = time.monotonic()
        _, records_found = await run(make_hundred_config(server, tmp_path), ground)
        seconds = time.monotonic() - start
    records, clean_seconds = undisturbed_run
    failed = sum(record.status is Status.FAILED for record in records_found)
    faults = sum(server.counts[fault] for fault in FAULTS)
    size = {"pairs": 100, "seeds": len(records_found), "calls": len(server.asked), "faults": faults}
    figures(size, {"failed": failed, "times as long": round(seconds / clean_seconds, 1)})
    assert records_found == records
    assert failed == 0
    assert seconds <= 4 * clean_seconds


async def test_an_outage_pauses_the_run_and_drops_nothing(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "BASE", 0.001)
    async with FaultyServer() as server:
        server.script = lambda number, body: _unavailable() if number < 150 else None
        config = make_config(server, tmp_path, seeds=5)
        place, watch = prepare.context(config, ground.corpus), RunCallbacks()
        with Run(config, ground.corpus) as under_way:
            under_way.pauses = (0.1,)
            result = await under_way.execute(lambda seed: run_seed(seed, place), watch)
    assert len(watch.troubles) >= 5
    assert (result.planned, result.failed, result.complete) == (5, 0, True)


def _unavailable() -> Any:
    return Reply(503, b'{"error": {"message": "overloaded"}}')


@pytest.mark.slow
async def test_a_lasting_outage_stops_the_run_which_can_be_resumed(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "BASE", 0.001)
    async with FaultyServer() as server:
        server.script = lambda number, body: None if number < 20 else _unavailable()
        config = make_config(server, tmp_path, seeds=5)
        model = config.models.default
        limits = model.limits.model_copy(update={"patience_seconds": 0.3})
        impatient = model.model_copy(update={"limits": limits})
        config = config.model_copy(update={"models": config.models.model_copy(update={"default": impatient})})
        run_context = prepare.context(config, ground.corpus)
        with Run(config, ground.corpus) as unfinished:
            unfinished.pauses = (0.05,)
            with pytest.raises(
                ProviderError, match=r"no answer for .* answered 503 \(overloaded\); finished seeds .*resume"
            ):
                await unfinished.execute(lambda seed: run_seed(seed, run_context), RunCallbacks())
        server.script = None
        request_count = len(server.asked)
        watch, records = await run(config, ground)
    assert len(records) == 5
    assert not watch.troubles
    assert all(body not in server.asked[:20] for body in server.asked[request_count:])


@pytest.mark.slow
async def test_a_budget_stops_within_the_calls_in_flight_and_a_higher_one_resumes(
    ground: Ground, tmp_path: Path
) -> None:
    """The budget is a third of what the run takes, which depends on the plan and so on the code."""
    async with FaultyServer() as unlimited_server:
        unlimited = make_config(unlimited_server, tmp_path / "rich", seeds=5)
        _, straight = await run(unlimited, ground)
    spending = attempts.total_spending(unlimited.folder()).total
    budgets = {
        "tokens": (spending.paid.prompt_tokens + spending.paid.completion_tokens) // 3,
        "money": (spending.money or 0) / 3,
    }
    for name, budget in budgets.items():
        async with FaultyServer() as server:
            config = make_config(server, tmp_path / name, seeds=5, **{f"budget_{name}": budget})
            used_up = rf"the budget is used up.*--budget-{name}; finished seeds are kept"
            with pytest.raises(BudgetExceeded, match=used_up):
                await run(config, ground)
            request_count = len(server.asked)
            with pytest.raises(BudgetExceeded):
                await run(config, ground)
            assert len(server.asked) == request_count
            runtime = config.runtime.model_copy(update={f"budget_{name}": 10 * budget})
            _, records = await run(config.model_copy(update={"runtime": runtime}), ground)
        assert records == straight
        assert 1 < request_count < len(server.asked) <= len(unlimited_server.asked) + 1


@pytest.mark.parametrize(
    "reply",
    [Reply(cut=-1), *(pytest.param(bad_reply, marks=pytest.mark.chaos) for bad_reply in BAD)],
    ids=range(5),
)
async def test_an_unanswered_request_does_not_block_its_run(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reply: Reply
) -> None:
    """Three of six seeds send such a request in every turn; their missing work is recorded as data."""
    monkeypatch.setattr(retry, "BASE", 0.001)
    async with FaultyServer() as server:
        config = make_config(server, tmp_path, seeds=6)
        order = Order(config, ground.corpus)
        # A line of the seed passage as it appears in a prompt.
        marks = [order[n].seed.passage.text.splitlines()[-1][:40] for n in (0, 2, 4)]
        hits: list[int] = []

        def answer_marked(number: int, body: dict[str, Any]) -> Reply | None:
            hit = any(mark in orjson.dumps(body).decode() for mark in marks)
            hits.extend([number] * hit)
            return reply if hit else None

        server.script = answer_marked
        run_context, watch = prepare.context(config, ground.corpus), RunCallbacks()
        with Run(config, ground.corpus) as unfinished:
            unfinished.pauses = (0.01,)
            result = await asyncio.wait_for(unfinished.execute(lambda seed: run_seed(seed, run_context), watch), 60)
    assert hits
    assert (result.planned, result.complete) == (6, True)
    publish.dataset(config.folder(), config)
