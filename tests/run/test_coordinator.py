"""A run makes the same records whatever its concurrency, its batches and its interruptions."""

import asyncio
from pathlib import Path

import orjson
import pytest

from pipeline.errors import ProviderError, RetrievalError, StoreError, UsageError
from pipeline.run import Run, RunResult
from pipeline.types import Record, Seed, Status
from tests.run import fakes
from tests.run.fakes import FakeCorpus, RunCallbacks, config, corpus, make_run_seed, record, run_part


async def run_all(out: Path, *, seconds: float = 0.0, chance: int = 0, **how: int) -> tuple[RunResult, list[Record]]:
    with Run(config(out, **how), corpus(short=20)) as run:
        result = await run.execute(make_run_seed(seconds=seconds, chance=chance), RunCallbacks())
        return result, list(run.records())


@pytest.mark.slow
@pytest.mark.parametrize("how", [{"pairs": 25}, {"seeds": 40}, {"pairs": 30, "max_seeds": 50}], ids=str)
async def test_concurrency_and_order_of_completion_change_nothing(tmp_path: Path, how: dict[str, int]) -> None:
    runs = [
        await run_all(tmp_path / f"{concurrency}-{chance}", seconds=0.01, chance=chance, concurrency=concurrency, **how)
        for concurrency, chance in ((1, 1), (8, 1), (8, 2), (64, 3))
    ]
    assert all(records == runs[0][1] for _, records in runs)
    result, records = runs[0]
    assert result.planned == result.accepted + result.rejected + result.failed == len(records)
    assert result.complete
    assert result.exhausted == (how.get("max_seeds") == 50)
    if "seeds" in how:
        assert result.planned == 40
    elif not result.exhausted:
        assert result.accepted == how["pairs"]
        assert records[-1].status is Status.ACCEPTED
    assert sum(result.reasons.values()) == result.rejected + result.failed
    assert result.surplus == 0
    assert 0 < result.dropped["too_short"] <= 20


async def test_timed_out_seeds_run_again_only_under_a_longer_deadline(tmp_path: Path) -> None:
    ends: list[int] = []
    for seconds in (1, 1, 0.5, 2, None, None):
        with Run(config(tmp_path, seeds=40, rollout_seconds=seconds), corpus()) as run:
            watch = RunCallbacks()
            result = await run.execute(make_run_seed() if seconds else make_run_seed(share=1.0), watch)
            assert (result.planned, result.surplus) == (40, 0)
            ends.append(len(watch.records))
    clocked = sum(record.reason == "deadline" for record in run.records())
    again = ends[3]
    assert (ends, clocked) == ([40, 0, 0, again, again, 0], 0)
    assert 0 < again < 10


async def test_a_resumed_run_runs_no_seed_twice(tmp_path: Path) -> None:
    seed_keys: list[str] = []

    async def run_seed(seed: Seed) -> Record:
        seed_keys.append(seed.key)
        return record(seed)

    for pairs in (3, 10, 10, 25):
        with Run(config(tmp_path, pairs=pairs), corpus(short=20)) as run:
            assert (await run.execute(run_seed, RunCallbacks())).accepted == pairs
            records = list(run.records())
    assert len(seed_keys) == len(set(seed_keys))
    assert records == (await run_all(tmp_path / "other", pairs=25))[1]
    assert (await run_all(tmp_path, pairs=3))[0].surplus == len(seed_keys) - len(
        (await run_all(tmp_path / "small", pairs=3))[1]
    )


async def test_seeds_beyond_the_plan_are_surplus_until_the_plan_grows(tmp_path: Path) -> None:
    gate = asyncio.Event()

    async def first_waits(seed: Seed) -> Record:
        if seed.key == first:
            await gate.wait()
        done.append(seed.key)
        if len(done) == 10:
            gate.set()
        return record(seed, share=1.0)

    done: list[str] = []
    with Run(config(tmp_path, pairs=11, concurrency=20), corpus()) as run:
        (first,) = fakes.first_keys(run, 1)
        await run_part(run, range(20), first_waits, RunCallbacks())
        larger = run.result()
    with Run(config(tmp_path, pairs=2), corpus()) as run:
        smaller = await run.execute(first_waits, RunCallbacks())
    assert smaller.accepted == 2
    assert smaller.planned + smaller.surplus == larger.planned + larger.surplus
    assert smaller.complete
    assert larger.complete
    assert larger.accepted == 11


async def test_a_seed_that_the_plan_no_longer_needs_is_not_waited_for(tmp_path: Path) -> None:
    async def slow_behind(seed: Seed) -> Record:
        if seed.key not in first_four:
            await asyncio.sleep(60)
        return record(seed, share=1.0)

    with Run(config(tmp_path, pairs=4, concurrency=8), corpus()) as run:
        first_four = fakes.first_keys(run, 4)
        result = await asyncio.wait_for(run.execute(slow_behind, RunCallbacks()), 5)
    assert (result.accepted, result.planned, result.surplus) == (4, 4, 0)


@pytest.mark.parametrize("kind", [ProviderError, RetrievalError])
async def test_outside_trouble_pauses_the_run_without_losing_a_seed(tmp_path: Path, kind: type[Exception]) -> None:
    failures: dict[str, int] = {}

    async def flaky(seed: Seed) -> Record:
        failures[seed.key] = failures.get(seed.key, 0) + 1
        if failures[seed.key] <= int(seed.key[0], 16) % 4:
            raise kind("down")
        return record(seed)

    watch = RunCallbacks()
    with Run(config(tmp_path / "flaky", pairs=25), corpus(short=20)) as run:
        run.pauses = (0.0, 0.001, 0.002)
        result = await run.execute(flaky, watch)
        assert list(run.records()) == (await run_all(tmp_path / "calm", pairs=25))[1]
    assert result.complete
    assert len(watch.troubles) > 20
    rows = [orjson.loads(line) for line in (result.folder / "attempts.jsonl").read_bytes().splitlines()]
    assert sum(row["ended"] == kind.__name__ for row in rows) == len(watch.troubles)
    assert [attempt.ended for attempt in watch.attempts] == [row["ended"] for row in rows]


async def test_lasting_trouble_stops_the_run_with_one_line_and_resume_works(tmp_path: Path) -> None:
    calls = 0

    async def dies(seed: Seed) -> Record:
        nonlocal calls
        calls += 1
        if calls > 20:
            raise ProviderError("the endpoint is down")
        return record(seed)

    watch = RunCallbacks()
    out = tmp_path / "my runs"
    with Run(config(out, pairs=25), corpus(short=20)) as run:
        run.pauses = (0.0,)
        with pytest.raises(ProviderError, match="the endpoint is down; finished seeds are kept .*") as caught:
            await run.execute(dies, watch)
        broken = run.result()
    assert str(caught.value).endswith(f"continue with: digsite resume '{run.folder}'")
    assert "\n" not in str(caught.value)
    assert not broken.complete
    assert broken.planned == 20
    result, records = await run_all(out, pairs=25)
    assert result.complete
    assert records == (await run_all(tmp_path / "calm", pairs=25))[1]


async def test_a_bug_stops_the_run_names_the_seed_and_keeps_finished_seeds(tmp_path: Path) -> None:
    async def buggy(seed: Seed) -> Record:
        if int(seed.key[:2], 16) < 16:
            raise ZeroDivisionError
        return record(seed)

    with Run(config(tmp_path, pairs=100), corpus()) as run:
        with pytest.raises(ZeroDivisionError) as caught:
            await run.execute(buggy, RunCallbacks())
        assert "while running seed" in caught.value.__notes__[0]
        assert run.journal.entries


async def test_what_finished_beside_a_failure_is_kept(tmp_path: Path) -> None:
    async def together(seed: Seed) -> Record:
        if seed.key == keys[0]:
            raise StoreError("no")
        return record(seed)

    with Run(config(tmp_path, pairs=100), corpus()) as run:
        keys = fakes.first_keys(run, 8)
        with pytest.raises(StoreError):
            await run.execute(together, RunCallbacks())
        assert set(run.journal.entries) == set(keys[1:])


async def test_attempts_record_seconds_and_the_result_is_a_file(tmp_path: Path) -> None:
    result, _ = await run_all(tmp_path, seeds=5, seconds=0.02)
    rows = [orjson.loads(line) for line in (result.folder / "attempts.jsonl").read_bytes().splitlines()]
    assert len(rows) == 5
    assert {row["ended"] for row in rows} <= {"accepted", "rejected", "failed"}
    assert all(0 <= row["seconds"] < 5 for row in rows)
    stored = orjson.loads((result.folder / "result.json").read_bytes())
    assert RunResult.model_validate({**stored, "folder": result.folder}) == result


async def test_latest_points_to_the_run_and_callbacks_get_every_event(tmp_path: Path) -> None:
    watch = RunCallbacks()
    with Run(config(tmp_path, seeds=5), corpus()) as run:
        await run.execute(make_run_seed(), watch)
    assert (tmp_path / "tiny" / "latest").resolve() == run.folder.resolve()
    assert watch.start_count == 1
    assert len(watch.records) == len(watch.attempts) == 5


def test_a_corpus_without_a_seed_leaves_nothing_behind(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="can start a question"), Run(config(tmp_path), corpus(5, short=5)):
        pass
    assert not list(tmp_path.iterdir())


async def test_a_corpus_of_one_passage_is_drawn_again_and_again(tmp_path: Path) -> None:
    with Run(config(tmp_path, pairs=3), FakeCorpus(corpus(1).passages)) as run:
        result = await run.execute(make_run_seed(), RunCallbacks())
        assert result.accepted == 3
        assert len({r.seed.draw for r in run.records()}) == result.planned


def test_a_second_run_on_the_folder_is_refused(tmp_path: Path) -> None:
    with (
        Run(config(tmp_path), corpus()),
        pytest.raises(StoreError, match=r"another process \(pid"),
        Run(config(tmp_path), corpus()),
    ):
        pass
    with Run(config(tmp_path), corpus()):
        pass


async def test_what_finishes_while_the_run_is_being_stopped_is_kept(tmp_path: Path) -> None:
    async def run_seed(seed: Seed) -> Record:
        if seed.key == keys[0]:
            await asyncio.sleep(0.01)
            raise StoreError("no")
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return record(seed)
        raise AssertionError("unreachable")

    with Run(config(tmp_path, pairs=100, concurrency=4), corpus()) as run:
        keys = fakes.first_keys(run, 4)
        with pytest.raises(StoreError):
            await run.execute(run_seed, RunCallbacks())
        assert set(run.journal.entries) == set(keys[1:])
