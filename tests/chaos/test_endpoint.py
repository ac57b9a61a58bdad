"""The whole loop over a real wire: the same records as in process, whatever the endpoint does in between.

The model behind the server is the embedded one, which sees what came over the wire and nothing else. A record that
differs in one byte of one message would show that the client changed what was said.
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
    records = asyncio.run(_dug(seeds, context))
    assert {Status.ACCEPTED, Status.REJECTED} == {record.status for record in records}
    return Ground(context, tiny, seeds, records, time.monotonic() - began)


async def _dug(seeds: Iterable[Seed], context: RunContext) -> list[Record]:
    return list(await asyncio.gather(*(run_seed(seed, context) for seed in seeds)))


def wired(server: FaultyServer, out: Path, **how: Any) -> RunConfig:
    limits = {"timeout_seconds": 2.0, "concurrency": 8}
    model = {"provider": "openai", "model": "embedded", "base_url": server.url, "limits": limits}
    prices = {"prompt": 1.0, "completion": 2.0}
    return build(
        values={**SETTINGS, "models": {"default": {**model, "prices": prices}}, "runtime": {"out": out, **how}}
    )


def context(server: FaultyServer, ground: Ground, out: Path) -> RunContext:
    """Where the same seeds are dug over the wire; the lineage is that of the records they are compared with."""
    return replace(prepare.context(wired(server, out), ground.corpus), lineage=ground.context.lineage)


async def test_the_whole_loop_over_the_wire_gives_the_same_records(ground: Ground, tmp_path: Path) -> None:
    async with FaultyServer() as server:
        assert await _dug(ground.seeds, context(server, ground, tmp_path)) == ground.records
        paid = len(server.asked)
        assert await _dug(ground.seeds, context(server, ground, tmp_path)) == ground.records
        assert len(server.asked) == paid
    prefixes_stand(server.asked)
    # Generator and solver may make several calls a turn, but where one is forced.
    turns = [body for body in server.asked if "tools" in body]
    assert {body["tools"][-1]["function"]["name"] for body in turns} == {"propose", "answer"}
    assert all(body.get("parallel_tool_calls", True) is (body["tool_choice"] == "auto") for body in turns)


async def test_what_was_paid_is_what_the_server_was_asked(ground: Ground, tmp_path: Path) -> None:
    async with FaultyServer() as server:
        config = wired(server, tmp_path, seeds=SEEDS)
        await run(config, ground)
        asked = len(server.asked)
    paid = attempts.total_spending(config.folder())
    assert paid.total.paid.calls == asked
    assert {"round 0", "seekers"} <= set(paid.stages) <= {"round 0", "round 1", "confirmation", "seekers"}
    assert paid.total.money == pytest.approx(sum(spent.money or 0 for spent in paid.stages.values()))
    tokens = paid.total.paid
    assert paid.total.money == pytest.approx((tokens.prompt_tokens + 2 * tokens.completion_tokens) / 1e6)
    publish.dataset(config.folder(), config)
    page, card = publish.report(config.folder(), config), config.folder() / "dataset" / "README.md"
    for text in (page.read_text(), card.read_text()):
        assert all(name in text for name in (*paid.stages, "solver", money.money(paid.total.money)))


def prefixes_stand(asked: list[dict[str, Any]]) -> None:
    """Every conversation begins with the bytes of the turn before it: system prompt, tools and all messages."""
    openings = {(_bytes(body.get("tools")), _bytes(body["messages"])) for body in asked}
    later = [body for body in asked if len(body["messages"]) > 2]
    assert later
    for body in later:
        assert body["messages"][0]["role"] == "system"
        tools = _bytes(body["tools"])
        assert any((tools, _bytes(body["messages"][:n])) in openings for n in range(2, len(body["messages"])))
    assert len({_bytes(body["messages"][0]) for body in asked}) <= len(prompts.names())
    assert len({_bytes(body.get("tools")) for body in asked}) <= 4


def _bytes(tree: Any) -> bytes:
    return orjson.dumps(tree)


async def run(config: RunConfig, ground: Ground) -> tuple[RunCallbacks, list[Record]]:
    watch, place = RunCallbacks(), prepare.context(config, ground.corpus)
    with Run(config, ground.corpus) as under_way:
        await under_way.execute(lambda seed: run_seed(seed, place), watch)
        return watch, list(under_way.records())


@pytest.mark.parametrize("chance", [0, *(pytest.param(n, marks=pytest.mark.chaos) for n in range(10))])
async def test_a_third_of_all_answers_broken_changes_no_record(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chance: int
) -> None:
    monkeypatch.setattr(retry, "BASE", 0.05)
    async with FaultyServer(rate=0.3, seed=chance) as server:
        assert await _dug(ground.seeds, context(server, ground, tmp_path)) == ground.records
    # How many calls there are, and so how many faults, depends on the plan, which the generator's digest draws.
    assert sum(server.counts[fault] for fault in FAULTS) >= 5


class Remote:
    """The demo model as far away as a real one is, or all that a run took would be its waits after faults."""

    async def complete(self, request: Request) -> Completion:
        await asyncio.sleep(0.2)
        return await DemoModel().complete(request)


def hundred(server: FaultyServer, out: Path) -> RunConfig:
    """A hundred pairs of about forty calls each; no gate drops one, or a corpus this small would not hold so many."""
    config = wired(server, out, pairs=100)
    loop = config.loop.model_copy(update={"audit": False, "rounds": 0, "rollouts": 4})
    checks = config.checks.model_copy(update={"run": ()})
    gates = config.gates.model_copy(update={"off": tuple(load_gates())})
    return config.model_copy(update={"loop": loop, "checks": checks, "gates": gates, "steps": (1, 1)})


@pytest.fixture(scope="module")
def clean(ground: Ground, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Record], float]:
    """The hundred pairs over an endpoint that never fails, and the seconds that they took."""

    async def made() -> list[Record]:
        async with FaultyServer(model=Remote()) as calm:
            return (await run(hundred(calm, tmp_path_factory.mktemp("calm")), ground))[1]

    began = time.monotonic()
    records = asyncio.run(made())
    return records, time.monotonic() - began


@pytest.mark.chaos
@pytest.mark.parametrize("chance", [1, 2, 3])
async def test_a_hundred_pairs_through_mixed_faults(
    ground: Ground, clean: tuple[list[Record], float], tmp_path: Path, figures: Figures, chance: int
) -> None:
    async with FaultyServer(model=Remote(), rate=0.3, seed=chance) as server:
        began = time.monotonic()
        _, found = await run(hundred(server, tmp_path), ground)
        seconds = time.monotonic() - began
    records, clean_seconds = clean
    failed = sum(record.status is Status.FAILED for record in found)
    faults = sum(server.counts[fault] for fault in FAULTS)
    size = {"pairs": 100, "seeds": len(found), "calls": len(server.asked), "faults": faults}
    figures(size, {"failed": failed, "times as long": round(seconds / clean_seconds, 1)})
    assert found == records
    assert failed == 0
    assert seconds <= 4 * clean_seconds


async def test_an_outage_pauses_the_run_and_drops_nothing(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "BASE", 0.001)
    async with FaultyServer() as server:
        server.script = lambda number, body: _unavailable() if number < 150 else None
        config = wired(server, tmp_path, seeds=5)
        place, watch = prepare.context(config, ground.corpus), RunCallbacks()
        with Run(config, ground.corpus) as under_way:
            under_way.pauses = (0.1,)
            result = await under_way.execute(lambda seed: run_seed(seed, place), watch)
    assert len(watch.troubles) >= 5
    assert (result.planned, result.failed, result.complete) == (5, 0, True)


def _unavailable() -> Any:
    return Reply(503, b'{"error": {"message": "overloaded"}}')


async def test_an_outage_that_lasts_stops_the_run_and_can_be_resumed(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "BASE", 0.001)
    async with FaultyServer() as server:
        server.script = lambda number, body: None if number < 20 else _unavailable()
        config = wired(server, tmp_path, seeds=5)
        model = config.models.default
        limits = model.limits.model_copy(update={"patience_seconds": 0.3})
        impatient = model.model_copy(update={"limits": limits})
        config = config.model_copy(update={"models": config.models.model_copy(update={"default": impatient})})
        place = prepare.context(config, ground.corpus)
        with Run(config, ground.corpus) as under_way:
            under_way.pauses = (0.05,)
            with pytest.raises(
                ProviderError, match=r"no answer for .* answered 503 \(overloaded\); finished seeds .*resume"
            ):
                await under_way.execute(lambda seed: run_seed(seed, place), RunCallbacks())
        server.script = None
        asked = len(server.asked)
        watch, records = await run(config, ground)
    assert len(records) == 5
    assert not watch.troubles
    assert all(body not in server.asked[:20] for body in server.asked[asked:])


async def test_a_budget_stops_within_the_calls_in_flight_and_a_higher_one_goes_on(
    ground: Ground, tmp_path: Path
) -> None:
    """A third of what the whole run takes: how much that is goes by the plan, which any change of code draws anew."""
    async with FaultyServer() as other:
        rich = wired(other, tmp_path / "rich", seeds=5)
        _, straight = await run(rich, ground)
    whole = attempts.total_spending(rich.folder()).total
    first = {"tokens": (whole.paid.prompt_tokens + whole.paid.completion_tokens) // 3, "money": (whole.money or 0) / 3}
    for name, third in first.items():
        async with FaultyServer() as server:
            config = wired(server, tmp_path / name, seeds=5, **{f"budget_{name}": third})
            used_up = rf"the budget is used up.*--budget-{name}; finished seeds are kept"
            with pytest.raises(BudgetExceeded, match=used_up):
                await run(config, ground)
            paid = len(server.asked)
            with pytest.raises(BudgetExceeded):
                await run(config, ground)
            assert len(server.asked) == paid
            runtime = config.runtime.model_copy(update={f"budget_{name}": 10 * third})
            _, records = await run(config.model_copy(update={"runtime": runtime}), ground)
        assert records == straight
        assert 1 < paid < len(server.asked) <= len(other.asked) + 1


@pytest.mark.parametrize(
    "bad",
    [Reply(cut=-1), *(pytest.param(one, marks=pytest.mark.chaos) for one in BAD)],
    ids=range(5),
)
async def test_a_request_that_is_never_answered_does_not_hold_up_its_run(
    ground: Ground, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: Reply
) -> None:
    """Three of six seeds ask it in every turn; what is left out of their work is data as any other."""
    monkeypatch.setattr(retry, "BASE", 0.001)
    async with FaultyServer() as server:
        config = wired(server, tmp_path, seeds=6)
        order = Order(config, ground.corpus)
        # A line of its text, as it stands in a prompt.
        marks = [order[n].seed.passage.text.splitlines()[-1][:40] for n in (0, 2, 4)]
        met: list[int] = []

        def poisoned(number: int, body: dict[str, Any]) -> Reply | None:
            hit = any(mark in orjson.dumps(body).decode() for mark in marks)
            met.extend([number] * hit)
            return bad if hit else None

        server.script = poisoned
        place, watch = prepare.context(config, ground.corpus), RunCallbacks()
        with Run(config, ground.corpus) as under_way:
            under_way.pauses = (0.01,)
            result = await asyncio.wait_for(under_way.execute(lambda seed: run_seed(seed, place), watch), 60)
    assert met
    assert (result.planned, result.complete) == (6, True)
    publish.dataset(config.folder(), config)
