"""Workers give the same bytes as one process, whatever happens to a batch, and keep the same limits."""

import asyncio
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import RunConfig, build
from pipeline.context import RunContext
from pipeline.errors import BudgetExceeded, UsageError, WorkerError
from pipeline.run import LogCallbacks, Run, RunResult, attempts, prepare, stages, worker
from pipeline.run.batches import Batches, Submit, divide_limits
from pipeline.run.worker import Batch, run_seeds
from pipeline.store.worker_answers import ANSWERS, take_left
from tests import run_files
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
    model = {"provider": "openai", "model": "embedded", "base_urls": [url], "limits": {"concurrency": 8}} if url else {}
    return build(values={**CHEAP, "models": {"default": model}, "runtime": {"out": str(out), "seeds": SEEDS, **how}})


async def respond_in_thread(request: bytes) -> bytes:
    """Run a batch in a thread of this process."""
    return await asyncio.to_thread(worker.respond, request)


def make_failing_submit(times: int, error: Exception, submit: Submit = respond_in_thread) -> Submit:
    remaining = [times]

    async def flaky(request: bytes) -> bytes:
        remaining[0] -= 1
        if remaining[0] >= 0:
            raise error
        return await submit(request)

    return flaky


async def run_batches(config: RunConfig, submit: Submit | None = respond_in_thread) -> RunResult:
    """Run in batches, or in this process without `submit`."""
    opening = stages.open_run(config, None, LogCallbacks())

    def enter() -> tuple[Run, RunContext]:
        with closing(asyncio.new_event_loop()) as loop:
            return loop.run_until_complete(opening.__aenter__())

    async with AsyncExitStack() as stack:
        # A test's server answers in this loop, so that the probe before the run waits in another thread.
        run, context = await asyncio.to_thread(enter)
        stack.push_async_exit(opening)
        run.pauses = (0.0,) * 3
        if submit is None:
            await stages.run_seeds(run, context, LogCallbacks())
            return run.result()
        async with Batches(run, context.lineage.corpus_fingerprint, submit) as batches:
            batches._size = 3
            await run.execute(batches.run_seed, LogCallbacks(), at_work=batches.at_work)
        take_left(run.folder, prepare.cache_path(config))
        return run.result()


def read_lines(result: RunResult) -> dict[str, bytes]:
    return run_files.read_journal(result.folder)


def make_batch(config: RunConfig, answers: Path, **changes: object) -> Batch:
    """Make a batch of the first seeds of a run."""
    corpus = stages.read(config, LogCallbacks())
    with_places: dict[str, Any] = {
        "name": "b", "config": config, "code": worker.code(), "fingerprint": corpus.fingerprint,
        "places": [f"000000-{place:012}" for place in range(4)], "answers": answers,
        "known": prepare.cache_path(config), "machine": worker.machine(),
    }  # fmt: skip
    return Batch.model_validate({**with_places, **changes})


@pytest.fixture(scope="module")
def single_process_result(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """Return the result of a run in one process."""
    return asyncio.run(run_batches(config(tmp_path_factory.mktemp("whole")), None))


async def test_a_batch_gives_the_lines_of_one_process_every_time(tmp_path: Path) -> None:
    expected = read_lines(await run_batches(config(tmp_path / "whole"), None))
    batch_request = make_batch(config(tmp_path / "batch"), tmp_path / "answers")
    response, repeated = run_seeds(batch_request), run_seeds(batch_request)
    assert len(response.lines) == len(response.outcome.attempts) == 4
    assert list(response.lines) == list(repeated.lines)
    assert set(response.lines) <= set(expected.values())
    assert worker.BatchResponse.unpack(response.pack()) == (response.outcome, list(response.lines), b"")


def test_other_code_or_another_corpus_is_refused_in_one_line_that_names_both(tmp_path: Path) -> None:
    settings = config(tmp_path)
    for changes in ({"code": "0.1+abc"}, {"fingerprint": "f" * 64}):
        response = run_seeds(make_batch(settings, tmp_path, **changes))
        assert not response.lines
        refusal = response.outcome.failures[""]
        assert refusal.kind == "UsageError"
        (wrong_value,) = changes.values()
        assert wrong_value[:12] in refusal.line
        assert {"code": worker.code(), "fingerprint": make_batch(settings, tmp_path).fingerprint[:12]}[
            next(iter(changes))
        ] in refusal.line
        assert "\n" not in refusal.line


async def test_a_refusal_ends_the_run_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def submit_other_code(request: bytes) -> bytes:
        return await respond_in_thread(request.replace(worker.code().encode(), b"0.1+abc"))

    with pytest.raises(UsageError, match=r"a worker has digsite .*, this command 0\.1\+abc"):
        await run_batches(config(tmp_path), submit_other_code)


@pytest.mark.slow
@pytest.mark.parametrize(
    "submit",
    [respond_in_thread, make_failing_submit(2, WorkerError("it died"))],
    ids=["calm", "dying"],
)
async def test_batches_make_the_records_of_one_process(
    tmp_path: Path, submit: Submit, single_process_result: RunResult
) -> None:
    """Every seed runs once, in any order of batches."""
    result = await run_batches(config(tmp_path), submit)
    assert read_lines(result) == read_lines(single_process_result)
    assert result.complete
    rows = list(attempts.read(result.folder))
    assert sum(row.ended != "WorkerError" for row in rows) == SEEDS
    assert (
        attempts.total_spending(result.folder).total.paid
        == attempts.total_spending(single_process_result.folder).total.paid
    )
    assert not (result.folder / ANSWERS).exists()


async def test_pairs_end_with_the_plan_of_one_process(tmp_path: Path) -> None:
    how: dict[str, Any] = {"seeds": None, "pairs": 5}
    expected = await run_batches(config(tmp_path / "whole", **how), None)
    result = await run_batches(config(tmp_path / "batches", **how))
    assert (result.planned, result.accepted) == (expected.planned, expected.accepted)
    shared_keys = read_lines(result).keys() & read_lines(expected).keys()
    assert len(shared_keys) >= expected.planned
    assert {key: read_lines(result)[key] for key in shared_keys} == {
        key: read_lines(expected)[key] for key in shared_keys
    }


async def test_a_run_stopped_by_dying_workers_can_be_resumed(tmp_path: Path, single_process_result: RunResult) -> None:
    settings = config(tmp_path)
    with pytest.raises(WorkerError, match="it died; finished seeds are kept"):
        await run_batches(settings, make_failing_submit(1000, WorkerError("it died")))
    assert read_lines(await run_batches(settings)) == read_lines(single_process_result)


def record_answers(server: FaultyServer) -> list[str]:
    answered: list[str] = []
    server.answered = lambda body: answered.append(digest(body))
    return answered


@pytest.mark.slow
@pytest.mark.parametrize("where", ["here", "a shared disk", "elsewhere"])
async def test_paid_answers_reach_the_cache_of_the_run(tmp_path: Path, where: str) -> None:
    """They come through the run's cache, a file on a shared disk, or together with the lines."""

    async def submit(message: bytes) -> bytes:
        request = Batch.model_validate_json(message)
        changes: dict[str, dict[str, object]] = {
            "here": {},
            "a shared disk": {"machine": "another"},
            "elsewhere": {"answers": tmp_path / "not here", "known": tmp_path / "nor this"},
        }
        response = await respond_in_thread(request.model_copy(update=changes[where]).model_dump_json().encode())
        assert bool(worker.BatchResponse.unpack(response).cache) == (where == "elsewhere")
        return response

    async with FaultyServer() as server:
        answered = record_answers(server)
        settings = config(tmp_path / "out", server.url, seeds=4)
        result = await run_batches(settings, submit)
        expected, call_count = read_lines(result), len(answered)
        assert call_count
        for path in (result.folder / "journal").iterdir():
            path.unlink()
        assert read_lines(await run_batches(settings, None)) == expected
        assert len(answered) == call_count


@pytest.mark.slow
async def test_a_worker_reuses_the_answers_of_a_killed_one(tmp_path: Path) -> None:
    async with FaultyServer() as server:
        answered = record_answers(server)
        settings = config(tmp_path, server.url)
        (tmp_path / "answers").mkdir()
        request = make_batch(settings, tmp_path / "answers", machine="another")
        response = await asyncio.to_thread(run_seeds, request)
        paid = len(answered)
        assert paid
        # The killed worker's file is still there: no run has taken it over.
        repeated = await asyncio.to_thread(run_seeds, request)
        assert list(response.lines) == list(repeated.lines)
        assert len(answered) == paid


@pytest.mark.slow
async def test_a_resumed_run_reuses_the_answers_of_killed_workers(tmp_path: Path) -> None:
    async with FaultyServer() as server:
        answered = record_answers(server)
        settings = config(tmp_path, server.url, seeds=6)
        answers = settings.folder() / ANSWERS / "x"
        answers.mkdir(parents=True)
        await asyncio.to_thread(run_seeds, make_batch(settings, answers, machine="another"))
        paid = len(answered)
        await run_batches(settings, None)
        assert len(answered) > paid
        assert twice(answered) == 0
        assert not answers.exists()


@pytest.mark.slow
async def test_a_budget_holds_over_all_workers(tmp_path: Path) -> None:
    """The budget is exceeded only by calls in flight, and a higher budget resumes the run."""
    workers = 4
    async with FaultyServer() as server:
        unlimited = await run_batches(config(tmp_path / "whole", server.url, workers=workers))
        paid = attempts.total_spending(unlimited.folder).total.paid
        total = paid.prompt_tokens + paid.completion_tokens
        settings = config(tmp_path / "out", server.url, workers=workers, budget_tokens=total // 2)
        with pytest.raises(BudgetExceeded, match="the budget is used up: .* tokens are used"):
            await run_batches(settings)
        spent = attempts.total_spending(settings.folder()).total.paid
        used, per_call = spent.prompt_tokens + spent.completion_tokens, total / paid.calls
        assert total // 2 <= used < total // 2 + 3 * 8 * per_call
        assert read_lines(await run_batches(config(tmp_path / "out", server.url, workers=workers))) == read_lines(
            unlimited
        )


@pytest.mark.slow
async def test_calls_in_flight_stay_within_the_limit_of_one_process(tmp_path: Path) -> None:
    async with FaultyServer() as server:
        await run_batches(config(tmp_path, server.url, seeds=6, workers=8))
        # Here all workers are one process, which has the part of one.
        assert server.busiest == 1


def test_each_worker_has_its_part_of_every_limit() -> None:
    limits = {"concurrency": 64, "requests_per_minute": 90, "tokens_per_minute": 3}
    models = {"default": {"provider": "openai", "model": "m", "limits": limits}, "solver": {"model": "s"}}
    part = divide_limits(build(values={"models": models, "runtime": {"concurrency": 10}}), 4)
    for model in (part.models.default, part.models.of("solver")):
        assert (model.limits.concurrency, model.limits.requests_per_minute, model.limits.tokens_per_minute) == (
            16,
            22,
            1,
        )
    assert part.runtime.concurrency == 2
    assert part.digest() == build(values={"models": models}).digest()


@pytest.mark.slow
async def test_two_processes_of_dask_make_the_bytes_of_one(tmp_path: Path, single_process_result: RunResult) -> None:
    """Run without Prefect, whose start would take longer than the test."""
    distributed = pytest.importorskip("distributed")
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=2, dashboard_address=None, asynchronous=True, host="127.0.0.1"
    )
    async with cluster, distributed.Client(cluster, asynchronous=True) as client:

        async def submit(request: bytes) -> bytes:
            response: bytes = await client.submit(worker.respond, request)
            return response

        result = await run_batches(config(tmp_path / "dask"), submit)
    assert read_lines(result) == read_lines(single_process_result)
