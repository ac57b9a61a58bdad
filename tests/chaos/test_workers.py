"""If Dask's workers and their services are killed, stopped or cut off, the bytes are still those of one process."""

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
    KEY,
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


class Outputs(NamedTuple):
    """The outputs of a run in one process."""

    lines: dict[str, bytes]
    shards: dict[str, bytes]


@pytest.fixture(scope="module")
def single_process(tmp_path_factory: pytest.TempPathFactory) -> Outputs:
    out = tmp_path_factory.mktemp("whole") / "out"
    with serving(out.parent / "notes") as endpoint:
        finished(start(out, *CHEAP, *over(endpoint.url), "--seeds", str(SEEDS)))
    remains = Remains(out)
    remains.whole(SEEDS)
    return Outputs(remains.known, remains.shards())


def start_command(out: Path, endpoint: Endpoint, *options: str) -> subprocess.Popen[str]:
    return start(out, *DASK, *over(endpoint.url), "--engine", "dask", *options, through=FLOW)


def list_workers(out: Path) -> list[int]:
    """Return the processes in which a command's workers run seeds."""
    return processes(out, b"spawn_main")


def wait_for_answers(endpoint: Endpoint, number: int, process: subprocess.Popen[str]) -> None:
    target = len(endpoint.answered()) + number
    until(lambda: len(endpoint.answered()) >= target, process)


def wait_for_workers_to_end(out: Path, seconds: float = 30) -> bool:
    """Wait until the workers have ended by themselves, since their command is gone."""
    end = time.monotonic() + seconds
    while orphans(out) and time.monotonic() < end:
        time.sleep(0.05)
    return orphans(out) == []


def seconds_to_end(process: subprocess.Popen[str], out: Path, number: int) -> float:
    """Wait for the clean end of a signalled command, which leaves no process. Return the seconds."""
    start = time.monotonic()
    _, stderr = process.communicate(timeout=100)
    seconds = time.monotonic() - start
    assert process.returncode == 128 + number, stderr
    # The end of the workers may take longer than a signal allows: then the process is ended by force.
    assert "digsite resume" in stderr or "the same command continues from there" in stderr, stderr
    assert "Traceback" not in stderr
    assert wait_for_workers_to_end(out)
    return seconds


def check_same_outputs(out: Path, single_process: Outputs) -> None:
    remains = Remains(out)
    remains.whole(SEEDS)
    assert (remains.known, remains.shards()) == single_process
    assert not (remains.run / "answers").exists()


def test_a_killed_worker_changes_nothing(
    tmp_path: Path, endpoint: Endpoint, figures: Figures, single_process: Outputs
) -> None:
    """A worker is killed three times in the middle of a batch."""
    out, rng, kills = tmp_path / "out", random.Random(3), 3
    process = start_command(out, endpoint)
    for _ in range(kills):
        wait_for_answers(endpoint, rng.randrange(20, 60), process)
        assert process.poll() is None, "it came to its end before a worker was killed"
        # Kill the oldest, which is working: Dask does not restart a worker that is killed while it starts.
        os.kill(list_workers(out)[0], signal.SIGKILL)
    finished(process)
    check_same_outputs(out, single_process)
    repaid = twice(endpoint.answered())
    figures({"kills": kills, "seeds": SEEDS}, {"lost": 0, "doubled": 0, "calls paid twice": repaid})
    assert repaid <= CONCURRENCY // WORKERS * kills


def test_a_command_killed_with_its_workers_resumes(
    tmp_path: Path, endpoint: Endpoint, figures: Figures, single_process: Outputs
) -> None:
    """The next command reuses the answers that the workers paid for, and a signal ends it cleanly."""
    out, kills = tmp_path / "out", 2
    for _ in range(kills):
        process = start_command(out, endpoint)
        wait_for_answers(endpoint, 60, process)
        assert kill(process), "it came to its end before it was killed"
        assert wait_for_workers_to_end(out)
    process = start_command(out, endpoint)
    wait_for_answers(endpoint, 30, process)
    for number in (process.pid, *list_workers(out)):  # as a terminal does
        os.kill(number, signal.SIGINT)
    slowest = seconds_to_end(process, out, signal.SIGINT)
    finished(start(out, *CHEAP, *over(endpoint.url), "--seeds", str(SEEDS)))
    check_same_outputs(out, single_process)
    repaid = twice(endpoint.answered())
    figures(
        {"kills": kills, "signals": 1, "seeds": SEEDS},
        {"lost": 0, "doubled": 0, "orphans": 0, "calls paid twice": repaid, "slowest end in s": round(slowest, 1)},
    )
    assert repaid <= CONCURRENCY * (kills + 1)


def test_signals_to_all_processes_of_a_job_end_it_cleanly(
    tmp_path: Path, endpoint: Endpoint, figures: Figures, single_process: Outputs
) -> None:
    """Slurm's `scancel` signals command, workers and Prefect's server, which waits for the flow's report."""
    out, slowest, signals = tmp_path / "out", 0.0, (signal.SIGTERM, signal.SIGTERM, signal.SIGINT)
    for number in signals:
        process = start_command(out, endpoint)
        wait_for_answers(endpoint, 20, process)
        for pid in processes(out):
            os.kill(pid, number)
        slowest = max(slowest, seconds_to_end(process, out, number))
    finished(start(out, *CHEAP, *over(endpoint.url), "--seeds", str(SEEDS)))
    check_same_outputs(out, single_process)
    repaid = twice(endpoint.answered())
    figures(
        {"signals": len(signals), "seeds": SEEDS},
        {"lost": 0, "doubled": 0, "orphans": 0, "calls paid twice": repaid, "slowest end in s": round(slowest, 1)},
    )
    assert repaid <= CONCURRENCY * len(signals)
    assert slowest <= 10


@contextmanager
def run_cluster(out: Path, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a Dask scheduler and two workers that look like other machines.

    Yields the scheduler's process and its address.
    """
    environment = {**os.environ, "CANARY_KEY": KEY, "CHAOS_TAG": str(out)}

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


def test_a_killed_scheduler_ends_the_run_which_resumes(
    tmp_path: Path, endpoint: Endpoint, figures: Figures, single_process: Outputs
) -> None:
    """The command ends in one line; repeated with another scheduler it reuses the paid answers."""
    out = tmp_path / "out"
    with run_cluster(out) as (scheduler, address):
        process = start_command(out, endpoint, "--address", address)
        wait_for_answers(endpoint, 60, process)
        scheduler.kill()
        _, stderr = process.communicate(timeout=300)
        assert process.returncode == 1, stderr
        assert "the engine dask failed" in stderr.splitlines()[-1]
        assert "Traceback" not in stderr
    assert wait_for_workers_to_end(out)
    earlier_answers = endpoint.answered()
    with run_cluster(out) as (_, address):
        finished(start_command(out, endpoint, "--address", address))
    check_same_outputs(out, single_process)
    # The first workers may have stored answers after their command had ended. The second command has taken them.
    assert not (Remains(out).run / "answers").exists()
    # Two machines may each pay for a request that several seeds share.
    repaid = len(set(earlier_answers) & set(endpoint.answered()[len(earlier_answers) :]))
    figures({"kills": 1, "seeds": SEEDS}, {"lost": 0, "doubled": 0, "calls paid twice": repaid})
    # These are the calls in flight, and answers on their way into the cache when the next calls went out.
    assert repaid <= 2 * CONCURRENCY


def test_workers_wait_for_a_killed_endpoint(tmp_path: Path, figures: Figures, single_process: Outputs) -> None:
    """The workers wait until it is back."""
    out = tmp_path / "out"
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with serving(tmp_path / "notes", port=port) as endpoint:
        process = start_command(out, endpoint)
        wait_for_answers(endpoint, 60, process)
    answer_count = len(endpoint.answered())
    time.sleep(5)
    assert process.poll() is None
    with serving(tmp_path / "notes", port=port):
        finished(process)
    check_same_outputs(out, single_process)
    assert len(endpoint.answered()) > answer_count
    repaid = twice(endpoint.answered())
    figures({"kills": 1, "seeds": SEEDS}, {"lost": 0, "failed": 0, "calls paid twice": repaid})
    assert repaid <= CONCURRENCY


def test_a_slow_worker_changes_nothing(
    tmp_path: Path, endpoint: Endpoint, figures: Figures, single_process: Outputs
) -> None:
    """The worker is stopped nine tenths of the time, and the other one works on."""
    out = tmp_path / "out"
    process = start_command(out, endpoint)
    wait_for_answers(endpoint, 30, process)
    slow = list_workers(out)[0]
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
    check_same_outputs(out, single_process)
    repaid = twice(endpoint.answered())
    figures({"stops": stops, "seeds": SEEDS}, {"lost": 0, "doubled": 0, "calls paid twice": repaid})


def test_a_full_disk_of_one_worker_loses_nothing(
    tmp_path: Path, endpoint: Endpoint, figures: Figures, single_process: Outputs
) -> None:
    """The others continue; if the worker gets its seeds again and again, one line names it and the run resumes."""
    out = tmp_path / "out"
    process = start_command(out, endpoint)
    wait_for_answers(endpoint, 30, process)
    full_worker = list_workers(out)[0]
    resource.prlimit(full_worker, resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    _, stderr = process.communicate(timeout=400)
    if stopped := process.returncode != 0:
        assert process.returncode == 1, stderr
        assert "ulimit -f" in stderr.splitlines()[-1]
        assert f"process {full_worker})" in stderr.splitlines()[-1]
    assert "Traceback" not in stderr
    finished(start_command(out, endpoint))
    check_same_outputs(out, single_process)
    repaid = twice(endpoint.answered())
    figures({"full disks": 1, "seeds": SEEDS}, {"lost": 0, "runs stopped": int(stopped), "calls paid twice": repaid})
    assert "ulimit -f" in stderr
