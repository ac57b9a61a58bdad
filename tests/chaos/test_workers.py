"""Workers of Dask, and what they rest on, killed, stopped and cut off in turn: the bytes of one process in the end."""

import os
import random
import resource
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.chaos.command import (
    CHEAP,
    CONCURRENCY,
    ROOT,
    Remains,
    finished,
    kill,
    orphans,
    over,
    processes,
    start,
    twice,
    until,
)
from tests.chaos.endpoint import Endpoint, serving
from tests.conftest import Figures

pytestmark = pytest.mark.chaos
SEEDS, WORKERS = 96, 2
DASK = [option for option in CHEAP if option != "--no-flow"] + [
    "--seeds",
    str(SEEDS),
    "--workers",
    str(WORKERS),
    "--wait",
    "120",
]
FLOW = ("pipeline.flow.main",)


class Whole(NamedTuple):
    """What one process makes."""

    lines: dict[str, bytes]
    shards: dict[str, bytes]


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Whole:
    out = tmp_path_factory.mktemp("whole") / "out"
    with serving(out.parent / "notes") as endpoint:
        finished(start(out, *CHEAP, *over(endpoint.url), "--seeds", str(SEEDS)))
    remains = Remains(out)
    remains.whole(SEEDS)
    return Whole(remains.known, remains.shards())


def command(out: Path, endpoint: Endpoint, *more: str) -> subprocess.Popen[str]:
    return start(out, *DASK, *over(endpoint.url), "--engine", "dask", *more, through=FLOW)


def workers(out: Path) -> list[int]:
    """The processes in which a command's workers run seeds."""
    return processes(out, b"spawn_main")


def more_answers(endpoint: Endpoint, number: int, process: subprocess.Popen[str]) -> None:
    wanted = len(endpoint.answered()) + number
    until(lambda: len(endpoint.answered()) >= wanted, process)


def gone(out: Path, seconds: float = 30) -> bool:
    """Workers end by themselves when the command that has started them is gone."""
    end = time.monotonic() + seconds
    while orphans(out) and time.monotonic() < end:
        time.sleep(0.05)
    return orphans(out) == []


def seconds_to_end(process: subprocess.Popen[str], out: Path, number: int) -> float:
    """Of a command that was signalled: it ends in order, says how to go on, and leaves no process."""
    began = time.monotonic()
    _, said = process.communicate(timeout=100)
    seconds = time.monotonic() - began
    assert process.returncode == 128 + number, said
    assert "digsite resume" in said
    assert "Traceback" not in said
    assert gone(out)
    return seconds


def same(out: Path, whole: Whole) -> None:
    remains = Remains(out)
    remains.whole(SEEDS)
    assert (remains.known, remains.shards()) == whole
    assert not (remains.run / "answers").exists()


def test_a_worker_is_killed_in_the_middle_of_a_batch(
    tmp_path: Path, endpoint: Endpoint, figures: Figures, whole: Whole
) -> None:
    """Three times."""
    out, draw, kills = tmp_path / "out", random.Random(3), 3
    process = command(out, endpoint)
    for _ in range(kills):
        more_answers(endpoint, draw.randrange(20, 60), process)
        assert process.poll() is None, "it came to its end before a worker was killed"
        # The oldest is at work; one that is killed while it starts is not started again.
        os.kill(workers(out)[0], signal.SIGKILL)
    finished(process)
    same(out, whole)
    repaid = twice(endpoint.answered())
    figures({"kills": kills, "seeds": SEEDS}, {"lost": 0, "doubled": 0, "calls paid twice": repaid})
    assert repaid <= CONCURRENCY // WORKERS * kills


def test_the_command_is_killed_with_its_workers(
    tmp_path: Path, endpoint: Endpoint, figures: Figures, whole: Whole
) -> None:
    """The next one has what the workers had paid for; a signal ends it in order, and leaves no process either."""
    out, kills = tmp_path / "out", 2
    for _ in range(kills):
        process = command(out, endpoint)
        more_answers(endpoint, 60, process)
        assert kill(process), "it came to its end before it was killed"
        assert gone(out)
    process = command(out, endpoint)
    more_answers(endpoint, 30, process)
    for number in (process.pid, *workers(out)):  # as a terminal does
        os.kill(number, signal.SIGINT)
    slowest = seconds_to_end(process, out, signal.SIGINT)
    finished(start(out, *CHEAP, *over(endpoint.url), "--seeds", str(SEEDS)))
    same(out, whole)
    repaid = twice(endpoint.answered())
    figures(
        {"kills": kills, "signals": 1, "seeds": SEEDS},
        {"lost": 0, "doubled": 0, "orphans": 0, "calls paid twice": repaid, "slowest end in s": round(slowest, 1)},
    )
    assert repaid <= CONCURRENCY * (kills + 1)


def test_all_processes_of_a_job_are_signalled_at_once(
    tmp_path: Path, endpoint: Endpoint, figures: Figures, whole: Whole
) -> None:
    """As Slurm's `scancel` does: command, workers, and Prefect's server, which goes on until the flow has reported."""
    out, slowest, signals = tmp_path / "out", 0.0, (signal.SIGTERM, signal.SIGTERM, signal.SIGINT)
    for number in signals:
        process = command(out, endpoint)
        more_answers(endpoint, 20, process)
        for one in processes(out):
            os.kill(one, number)
        slowest = max(slowest, seconds_to_end(process, out, number))
    finished(start(out, *CHEAP, *over(endpoint.url), "--seeds", str(SEEDS)))
    same(out, whole)
    repaid = twice(endpoint.answered())
    figures(
        {"signals": len(signals), "seeds": SEEDS},
        {"lost": 0, "doubled": 0, "orphans": 0, "calls paid twice": repaid, "slowest end in s": round(slowest, 1)},
    )
    assert repaid <= CONCURRENCY * len(signals)
    assert slowest <= 10


@contextmanager
def cluster(out: Path, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A scheduler of Dask that no command has started, and two workers that take themselves for other machines; the
    scheduler's process and address."""
    environment = {**os.environ, "CHAOS_TAG": str(out)}

    def dask(*arguments: str) -> subprocess.Popen[str]:
        at = [sys.executable, "-m", "dask", *arguments]
        return subprocess.Popen(at, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True)

    with ExitStack() as stack:
        scheduler = dask("scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
        stack.callback(scheduler.wait)
        stack.callback(scheduler.kill)
        assert scheduler.stderr
        address = next(line.split()[-1] for line in scheduler.stderr if "Scheduler at:" in line)
        for _ in range(WORKERS):
            elsewhere = ("--preload", "tests.chaos.elsewhere")
            worker = dask("worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard", *elsewhere)
            stack.callback(worker.wait)
            stack.callback(worker.kill)
        yield scheduler, address


def test_the_scheduler_is_killed(tmp_path: Path, endpoint: Endpoint, figures: Figures, whole: Whole) -> None:
    """One line, and the same command goes on with another one, and with what the workers had paid for."""
    out = tmp_path / "out"
    with cluster(out) as (scheduler, address):
        process = command(out, endpoint, "--address", address)
        more_answers(endpoint, 60, process)
        scheduler.kill()
        _, said = process.communicate(timeout=300)
        assert process.returncode == 1, said
        assert "the engine dask failed" in said.splitlines()[-1]
        assert not (Remains(out).run / "answers").exists()
        assert "Traceback" not in said
    assert gone(out)
    before = endpoint.answered()
    with cluster(out) as (_, address):
        finished(command(out, endpoint, "--address", address))
    same(out, whole)
    # Two machines may each pay for what several seeds ask for.
    repaid = len(set(before) & set(endpoint.answered()[len(before) :]))
    figures({"kills": 1, "seeds": SEEDS}, {"lost": 0, "doubled": 0, "calls paid twice": repaid})
    # Calls in flight, and answers that were on their way into the cache while the next calls went out.
    assert repaid <= 2 * CONCURRENCY


def test_the_endpoint_is_killed_under_two_workers(tmp_path: Path, figures: Figures, whole: Whole) -> None:
    """They wait for it."""
    out = tmp_path / "out"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with serving(tmp_path / "notes", port=port) as endpoint:
        process = command(out, endpoint)
        more_answers(endpoint, 60, process)
    before = len(endpoint.answered())
    time.sleep(5)
    assert process.poll() is None
    with serving(tmp_path / "notes", port=port):
        finished(process)
    same(out, whole)
    assert len(endpoint.answered()) > before
    repaid = twice(endpoint.answered())
    figures({"kills": 1, "seeds": SEEDS}, {"lost": 0, "failed": 0, "calls paid twice": repaid})
    assert repaid <= CONCURRENCY


def test_a_worker_is_slow(tmp_path: Path, endpoint: Endpoint, figures: Figures, whole: Whole) -> None:
    """It stands still nine tenths of the time; the other has no batch less for it."""
    out = tmp_path / "out"
    process = command(out, endpoint)
    more_answers(endpoint, 30, process)
    slow = workers(out)[0]
    stops = 0
    while process.poll() is None:
        try:
            os.kill(slow, signal.SIGSTOP)
            time.sleep(0.9)
            os.kill(slow, signal.SIGCONT)
            stops += 1
        except ProcessLookupError:
            break
        time.sleep(0.1)
    finished(process)
    same(out, whole)
    repaid = twice(endpoint.answered())
    figures({"stops": stops, "seeds": SEEDS}, {"lost": 0, "doubled": 0, "calls paid twice": repaid})


def test_the_disk_of_a_worker_is_full(tmp_path: Path, endpoint: Endpoint, figures: Figures, whole: Whole) -> None:
    """The others go on; where its seeds come to it again and again, one line names it and the run goes on later."""
    out = tmp_path / "out"
    process = command(out, endpoint)
    more_answers(endpoint, 30, process)
    full = workers(out)[0]
    resource.prlimit(full, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    _, said = process.communicate(timeout=400)
    if stopped := process.returncode != 0:
        assert process.returncode == 1, said
        assert "ulimit -f" in said.splitlines()[-1]
        assert f"process {full})" in said.splitlines()[-1]
    assert "Traceback" not in said
    finished(command(out, endpoint))
    same(out, whole)
    repaid = twice(endpoint.answered())
    figures({"full disks": 1, "seeds": SEEDS}, {"lost": 0, "runs stopped": int(stopped), "calls paid twice": repaid})
    assert "ulimit -f" in said
