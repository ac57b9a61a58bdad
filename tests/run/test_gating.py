"""`--pairs N` gives N pairs that pass the gates, in any order of completion and with any number of stops."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest

from pipeline.config import RunConfig
from pipeline.config.exports import GateConfig
from pipeline.gates import describe_gates
from pipeline.run import Run, RunResult
from pipeline.run.plan import judge_records
from pipeline.store.journal import Journal
from pipeline.types import Record, Seed, Status, sha256
from tests.records import accepted, below_target
from tests.run.fakes import RunCallbacks, corpus, record, run_part
from tests.run.fakes import config as plain

GATES = GateConfig(off=tuple(name for name in describe_gates() if name != "duplicate"))


def config(out: Path, **how: int) -> RunConfig:
    """Turn off all gates but that for equal questions, since all these worlds are alike."""
    return plain(out, **how).model_copy(update={"gates": GATES})


def make_run_seed(seconds: float = 0.0, chance: int = 0) -> Callable[[Seed], Awaitable[Record]]:
    """Accept half of the seeds, many with the same question, since there are only 40 worlds."""
    lengths = random.Random(chance)

    async def run_seed(seed: Seed) -> Record:
        await asyncio.sleep(lengths.random() * seconds)
        number = int(sha256(f"{seed.passage.id} {seed.draw}")[:8], 16)
        if number % 2:
            return record(seed, share=0.0)
        template = below_target(number % 10) if number % 6 == 0 else accepted(number % 40)
        return template.model_copy(update={"key": seed.key, "seed": seed})

    return run_seed


def list_records(run: Run) -> list[tuple[str, str]]:
    return [(record.key, record.reason) for record in run.records()]


async def run_all(
    out: Path, chance: int = 0, seconds: float = 0.0, **how: int
) -> tuple[RunResult, list[tuple[str, str]], RunCallbacks]:
    with Run(config(out, **how), corpus()) as run:
        result = await run.execute(make_run_seed(seconds, chance), watch := RunCallbacks())
        return result, list_records(run), watch


async def test_requested_pairs_count_only_those_that_pass(tmp_path: Path) -> None:
    result, records, watch = await run_all(tmp_path, pairs=15)
    assert result.complete
    assert result.accepted == 15
    assert result.planned == result.accepted + result.rejected + result.failed == len(records)
    gated = [(key, reason) for key, reason in records if reason.startswith("gate:")]
    assert len(gated) == sum(n for reason, n in result.reasons.items() if reason.startswith("gate:")) > 3
    assert watch.drops == gated


async def test_gates_ignore_concurrency_and_order_of_completion(tmp_path: Path) -> None:
    result, records, _ = await run_all(tmp_path / "calm", pairs=15, concurrency=1)
    for chance, concurrency in ((1, 8), (2, 64)):
        out = tmp_path / f"{chance}"
        again, same, watch = await run_all(out, chance, seconds=0.01, pairs=15, concurrency=concurrency)
        assert same == records
        assert again.reasons == result.reasons
        assert watch.drops == [(key, reason) for key, reason in records if reason.startswith("gate:")]


@pytest.mark.slow
async def test_growing_a_stopped_run_only_adds_records(tmp_path: Path) -> None:
    _, large, _ = await run_all(tmp_path / "large", pairs=18)
    result, small, _ = await run_all(tmp_path / "grown", pairs=9)
    assert small == large[: len(small)]
    with Run(config(tmp_path / "grown", pairs=18), corpus()) as run:
        await run_part(run, range(25, 50), make_run_seed(), RunCallbacks())
        # Seeds ahead of a gap are judged as if the gap were not there, in the result as in the records.
        result, so_far = run.result(), list_records(run)
        assert result.planned == len(so_far)
        assert sum(result.reasons.values()) == sum(bool(reason) for _, reason in so_far)
        await run.execute(make_run_seed(), watch := RunCallbacks())
        assert list_records(run) == large
        assert all(pair in large for pair in watch.drops)


async def test_the_data_set_has_the_records_of_the_run(tmp_path: Path) -> None:
    result, records, _ = await run_all(tmp_path, pairs=12)
    settings = config(tmp_path, pairs=12)
    journal = Journal(result.folder / "journal")
    assert [(record.key, record.reason) for record, _ in judge_records(journal, settings)] == records
    assert all(head.status is not Status.REJECTED or not head.reason.startswith("gate:") for head in journal.heads())


async def test_included_records_pass_the_gates_without_displacing_pairs(tmp_path: Path) -> None:
    result, records, _ = await run_all(tmp_path, pairs=15)
    journal, settings = Journal(result.folder / "journal"), config(tmp_path, pairs=15)
    judged = list(judge_records(journal, settings, ("below_target",)))
    pairs = [(record.key, record.reason) for record, _ in judged]
    late = sum(reason == "below_target" for _, reason in records)
    assert late > 2
    assert pairs[:-late] == [pair for pair in records if pair[1] != "below_target"]
    assert {reason for _, reason in pairs[-late:]} == {"below_target"}
    assert {drop and drop.gate for _, drop in judged[-late:]} == {None, "duplicate"}


async def test_gates_that_are_off_let_everything_through(tmp_path: Path) -> None:
    settings = plain(tmp_path, pairs=12).model_copy(update={"gates": GateConfig(off=tuple(describe_gates()))})
    assert settings.digest() == plain(tmp_path).digest()
    with Run(settings, corpus()) as run:
        result = await run.execute(make_run_seed(), RunCallbacks())
    assert result.accepted == 12
    assert not any(reason.startswith("gate:") for reason in result.reasons)
