"""`--pairs N` is N pairs that pass the gates, whatever ends first and however often the run is stopped."""

import asyncio
import random
from collections.abc import Awaitable, Callable
from pathlib import Path

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
    """All these worlds are alike, so only the same question is dropped."""
    return plain(out, **how).model_copy(update={"gates": GATES})


def digger(seconds: float = 0.0, chance: int = 0) -> Callable[[Seed], Awaitable[Record]]:
    """Half of the seeds are accepted, and of these many ask the same: there are 40 worlds."""
    lengths = random.Random(chance)

    async def run_seed(seed: Seed) -> Record:
        await asyncio.sleep(lengths.random() * seconds)
        number = int(sha256(f"{seed.passage.id} {seed.draw}")[:8], 16)
        if number % 2:
            return record(seed, share=0.0)
        made = below_target(number % 10) if number % 6 == 0 else accepted(number % 40)
        return made.model_copy(update={"key": seed.key, "seed": seed})

    return run_seed


def kept(run: Run) -> list[tuple[str, str]]:
    return [(one.key, one.reason) for one in run.records()]


async def whole(
    out: Path, chance: int = 0, seconds: float = 0.0, **how: int
) -> tuple[RunResult, list[tuple[str, str]], RunCallbacks]:
    with Run(config(out, **how), corpus()) as run:
        result = await run.execute(digger(seconds, chance), watch := RunCallbacks())
        return result, kept(run), watch


async def test_the_wanted_pairs_are_those_that_pass(tmp_path: Path) -> None:
    result, records, watch = await whole(tmp_path, pairs=15)
    assert result.complete
    assert result.accepted == 15
    assert result.planned == result.accepted + result.rejected + result.failed == len(records)
    gated = [(key, reason) for key, reason in records if reason.startswith("gate:")]
    assert len(gated) == sum(n for reason, n in result.reasons.items() if reason.startswith("gate:")) > 3
    assert watch.drops == gated


async def test_neither_concurrency_nor_the_order_of_completion_matters(tmp_path: Path) -> None:
    result, records, _ = await whole(tmp_path / "calm", pairs=15, concurrency=1)
    for chance, concurrency in ((1, 8), (2, 64)):
        out = tmp_path / f"{chance}"
        again, same, watch = await whole(out, chance, seconds=0.01, pairs=15, concurrency=concurrency)
        assert same == records
        assert again.reasons == result.reasons
        assert watch.drops == [(key, reason) for key, reason in records if reason.startswith("gate:")]


async def test_a_run_that_is_stopped_and_grown_only_adds(tmp_path: Path) -> None:
    _, large, _ = await whole(tmp_path / "large", pairs=18)
    result, small, _ = await whole(tmp_path / "grown", pairs=9)
    assert small == large[: len(small)]
    with Run(config(tmp_path / "grown", pairs=18), corpus()) as run:
        await run_part(run, range(25, 50), digger(), RunCallbacks())
        # Seeds ahead of a gap are judged as if the gap were not there, in the result as in the records.
        result, so_far = run.result(), kept(run)
        assert result.planned == len(so_far)
        assert sum(result.reasons.values()) == sum(bool(reason) for _, reason in so_far)
        await run.execute(digger(), watch := RunCallbacks())
        assert kept(run) == large
        assert all(pair in large for pair in watch.drops)


async def test_what_the_data_set_reads_is_what_the_run_kept(tmp_path: Path) -> None:
    result, records, _ = await whole(tmp_path, pairs=12)
    settings = config(tmp_path, pairs=12)
    journal = Journal(result.folder / "journal")
    assert [(one.key, one.reason) for one, _ in judge_records(journal, settings)] == records
    assert all(head.status is not Status.REJECTED or not head.reason.startswith("gate:") for head in journal.heads())


async def test_what_is_included_passes_the_gates_too_and_takes_no_place(tmp_path: Path) -> None:
    result, records, _ = await whole(tmp_path, pairs=15)
    journal, settings = Journal(result.folder / "journal"), config(tmp_path, pairs=15)
    told = list(judge_records(journal, settings, ("below_target",)))
    found = [(one.key, one.reason) for one, _ in told]
    late = sum(reason == "below_target" for _, reason in records)
    assert late > 2
    assert found[:-late] == [pair for pair in records if pair[1] != "below_target"]
    assert {reason for _, reason in found[-late:]} == {"below_target"}
    assert {drop and drop.gate for _, drop in told[-late:]} == {None, "duplicate"}


async def test_gates_that_are_off_let_everything_through(tmp_path: Path) -> None:
    settings = plain(tmp_path, pairs=12).model_copy(update={"gates": GateConfig(off=tuple(describe_gates()))})
    assert settings.digest() == plain(tmp_path).digest()
    with Run(settings, corpus()) as run:
        result = await run.execute(digger(), RunCallbacks())
    assert result.accepted == 12
    assert not any(reason.startswith("gate:") for reason in result.reasons)
