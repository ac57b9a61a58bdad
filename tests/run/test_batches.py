"""Seeds that workers run: the bytes of one process, whatever becomes of a batch, and within the same limits."""

import asyncio
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import RunConfig, build
from pipeline.errors import BudgetExceeded, UsageError, WorkerError
from pipeline.run import LogCallbacks, RunResult, attempts, prepare, stages, worker
from pipeline.run.batches import Batches, Submit, divide_limits
from pipeline.run.worker import Batch, run_seeds
from pipeline.store.worker_answers import ANSWERS, take_left
from tests import left
from tests.chaos.command import twice
from tests.chaos.faulty_server import FaultyServer, digest

SEEDS = 12
CHEAP: dict[str, Any] = {
    "corpus": {"name": "tiny"},
    "retrieval": {"retriever": "bm25"},
    "steps": 1,
    "loop": {"rounds": 0, "audit": False, "rollouts": 2},
    "checks": {"enabled": []},
}


def config(out: Path, url: str = "", **how: object) -> RunConfig:
    asked = {"provider": "openai", "model": "embedded", "base_urls": [url], "limits": {"concurrency": 8}} if url else {}
    return build(values={**CHEAP, "models": {"default": asked}, "runtime": {"out": str(out), "seeds": SEEDS, **how}})


async def here(asked: bytes) -> bytes:
    """A worker that is a thread of this process."""
    return await asyncio.to_thread(worker.respond, asked)


def failing(times: int, error: Exception, submit: Submit = here) -> Submit:
    left = [times]

    async def flaky(asked: bytes) -> bytes:
        left[0] -= 1
        if left[0] >= 0:
            raise error
        return await submit(asked)

    return flaky


async def made(asked: RunConfig, submit: Submit | None = here) -> RunResult:
    """The run by batches; without `submit` in this process."""
    with ExitStack() as stack:
        # A test's server answers in this loop, so that the probe before the run waits in another thread.
        run, context = await asyncio.to_thread(stack.enter_context, stages.open_run(asked, None, LogCallbacks()))
        run.pauses = (0.0,) * 3
        if submit is None:
            await stages.run_seeds(run, context, LogCallbacks())
            return run.result()
        async with Batches(run, context.lineage.corpus_fingerprint, submit) as batches:
            batches._size = 3
            await run.execute(batches.run_seed, LogCallbacks(), at_work=batches.at_work)
        take_left(run.folder, prepare.cache_path(asked))
        return run.result()


def lines(result: RunResult) -> dict[str, bytes]:
    return left.lines(result.folder)


def batch(asked: RunConfig, answers: Path, **changed: object) -> Batch:
    """The first seeds of a run."""
    corpus = stages.read(asked, LogCallbacks())
    with_places: dict[str, Any] = {
        "name": "b", "config": asked, "code": worker.code(), "fingerprint": corpus.fingerprint,
        "places": [f"000000-{place:012}" for place in range(4)], "answers": answers,
        "known": prepare.cache_path(asked), "machine": worker.machine(),
    }  # fmt: skip
    return Batch.model_validate({**with_places, **changed})


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """The run of one process."""
    return asyncio.run(made(config(tmp_path_factory.mktemp("whole")), None))


async def test_a_batch_gives_the_lines_of_one_process_and_again_the_same(tmp_path: Path) -> None:
    whole = lines(await made(config(tmp_path / "whole"), None))
    one = batch(config(tmp_path / "batch"), tmp_path / "answers")
    response, again = run_seeds(one), run_seeds(one)
    assert len(response.lines) == len(response.outcome.attempts) == 4
    assert list(response.lines) == list(again.lines)
    assert set(response.lines) <= set(whole.values())
    assert worker.BatchResponse.unpack(response.pack()) == (response.outcome, list(response.lines), b"")


def test_other_code_and_another_corpus_are_refused_by_one_line_that_names_both(tmp_path: Path) -> None:
    asked = config(tmp_path)
    for changed in ({"code": "0.1+abc"}, {"fingerprint": "f" * 64}):
        response = run_seeds(batch(asked, tmp_path, **changed))
        assert not response.lines
        refusal = response.outcome.failures[""]
        assert refusal.kind == "UsageError"
        (other,) = changed.values()
        assert other[:12] in refusal.line
        assert {"code": worker.code(), "fingerprint": batch(asked, tmp_path).fingerprint[:12]}[
            next(iter(changed))
        ] in refusal.line
        assert "\n" not in refusal.line


async def test_a_refusal_ends_the_run_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def other(asked: bytes) -> bytes:
        return await here(asked.replace(worker.code().encode(), b"0.1+abc"))

    with pytest.raises(UsageError, match=r"a worker has digsite .*, this command 0\.1\+abc"):
        await made(config(tmp_path), other)


@pytest.mark.parametrize(
    "submit",
    [here, failing(2, WorkerError("it died"))],
    ids=["calm", "dying"],
)
async def test_batches_make_the_records_of_one_process(tmp_path: Path, submit: Submit, whole: RunResult) -> None:
    """All seeds once, in whatever order their batches end."""
    result = await made(config(tmp_path), submit)
    assert lines(result) == lines(whole)
    assert result.complete
    rows = list(attempts.read(result.folder))
    assert sum(row.ended != "WorkerError" for row in rows) == SEEDS
    assert attempts.total_spending(result.folder).total.paid == attempts.total_spending(whole.folder).total.paid
    assert not (result.folder / ANSWERS).exists()


async def test_pairs_end_with_the_same_plan(tmp_path: Path) -> None:
    how: dict[str, Any] = {"seeds": None, "pairs": 5}
    whole = await made(config(tmp_path / "whole", **how), None)
    result = await made(config(tmp_path / "batches", **how))
    assert (result.planned, result.accepted) == (whole.planned, whole.accepted)
    both = lines(result).keys() & lines(whole).keys()
    assert len(both) >= whole.planned
    assert {key: lines(result)[key] for key in both} == {key: lines(whole)[key] for key in both}


async def test_workers_that_die_again_and_again_stop_the_run_and_it_goes_on_later(
    tmp_path: Path, whole: RunResult
) -> None:
    asked = config(tmp_path)
    with pytest.raises(WorkerError, match="it died; finished seeds are kept"):
        await made(asked, failing(1000, WorkerError("it died")))
    assert lines(await made(asked)) == lines(whole)


def counted(server: FaultyServer) -> list[str]:
    answered: list[str] = []
    server.answered = lambda body: answered.append(digest(body))
    return answered


@pytest.mark.parametrize("where", ["here", "a shared disk", "elsewhere"])
async def test_what_was_paid_for_is_in_the_cache_of_the_run(tmp_path: Path, where: str) -> None:
    """The answers come by the run's own cache, by a file on the disk that a machine shares with it, or with the
    lines."""

    async def submit(asked: bytes) -> bytes:
        one = Batch.model_validate_json(asked)
        lost: dict[str, dict[str, object]] = {
            "here": {},
            "a shared disk": {"machine": "another"},
            "elsewhere": {"answers": tmp_path / "not here", "known": tmp_path / "nor this"},
        }
        response = await here(one.model_copy(update=lost[where]).model_dump_json().encode())
        assert bool(worker.BatchResponse.unpack(response).cache) == (where == "elsewhere")
        return response

    async with FaultyServer() as server:
        answered = counted(server)
        asked = config(tmp_path / "out", server.url, seeds=4)
        result = await made(asked, submit)
        whole, first = lines(result), len(answered)
        assert first
        for path in (result.folder / "journal").iterdir():
            path.unlink()
        assert lines(await made(asked, None)) == whole
        assert len(answered) == first


async def test_the_next_worker_has_what_a_killed_one_has_paid_for(tmp_path: Path) -> None:
    async with FaultyServer() as server:
        answered = counted(server)
        asked = config(tmp_path, server.url)
        (tmp_path / "answers").mkdir()
        one = batch(asked, tmp_path / "answers", machine="another")
        response = await asyncio.to_thread(run_seeds, one)
        paid = len(answered)
        assert paid
        # Its file lies there: nobody has taken it over.
        again = await asyncio.to_thread(run_seeds, one)
        assert list(response.lines) == list(again.lines)
        assert len(answered) == paid


async def test_a_resumed_run_takes_what_killed_workers_have_paid_for(tmp_path: Path) -> None:
    async with FaultyServer() as server:
        answered = counted(server)
        asked = config(tmp_path, server.url, seeds=6)
        left = asked.folder() / ANSWERS / "x"
        left.mkdir(parents=True)
        await asyncio.to_thread(run_seeds, batch(asked, left, machine="another"))
        paid = len(answered)
        await made(asked, None)
        assert len(answered) > paid
        assert twice(answered) == 0
        assert not left.exists()


async def test_a_budget_holds_over_all_workers(tmp_path: Path) -> None:
    """It is overshot by the calls in flight, and a higher one goes on."""
    workers = 4
    async with FaultyServer() as server:
        whole = await made(config(tmp_path / "whole", server.url, workers=workers))
        paid = attempts.total_spending(whole.folder).total.paid
        total = paid.prompt_tokens + paid.completion_tokens
        asked = config(tmp_path / "out", server.url, workers=workers, budget_tokens=total // 2)
        with pytest.raises(BudgetExceeded, match="the budget is used up: .* tokens are used"):
            await made(asked)
        spent = attempts.total_spending(asked.folder()).total.paid
        used, each = spent.prompt_tokens + spent.completion_tokens, total / paid.calls
        assert total // 2 <= used < total // 2 + 3 * 8 * each
        assert lines(await made(config(tmp_path / "out", server.url, workers=workers))) == lines(whole)


async def test_the_calls_in_flight_are_those_of_one_process(tmp_path: Path) -> None:
    async with FaultyServer() as server:
        await made(config(tmp_path, server.url, seeds=6, workers=8))
        # Here all workers are one process, which has the part of one.
        assert server.busiest == 1


def test_each_worker_has_its_part_of_every_limit() -> None:
    limits = {"concurrency": 64, "requests_per_minute": 90, "tokens_per_minute": 3}
    models = {"default": {"provider": "openai", "model": "m", "limits": limits}, "solver": {"model": "s"}}
    part = divide_limits(build(values={"models": models, "runtime": {"concurrency": 10}}), 4)
    for one in (part.models.default, part.models.of("solver")):
        assert (one.limits.concurrency, one.limits.requests_per_minute, one.limits.tokens_per_minute) == (16, 22, 1)
    assert part.runtime.concurrency == 2
    assert part.digest() == build(values={"models": models}).digest()


async def test_two_processes_of_dask_make_the_bytes_of_one(tmp_path: Path, whole: RunResult) -> None:
    """Without Prefect, whose start takes longer than all of this."""
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=2, dashboard_address=None, asynchronous=True, host="127.0.0.1"
    )
    async with cluster, distributed.Client(cluster, asynchronous=True) as client:

        async def submit(asked: bytes) -> bytes:
            response: bytes = await client.submit(worker.respond, asked)
            return response

        result = await made(config(tmp_path / "dask"), submit)
    assert lines(result) == lines(whole)
