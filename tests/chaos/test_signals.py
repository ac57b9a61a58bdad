"""Ctrl-C and SIGTERM: at most five seconds, the journal whole, the line that says how to go on."""

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from pipeline.store.journal import Journal
from tests.chaos.test_kill import Victim


def opened(tmp_path: Path, behaviour: str, seeds: int = 300) -> tuple[Victim, subprocess.Popen[str]]:
    victim = Victim(tmp_path / "run", seeds)
    victim.out.mkdir(exist_ok=True)
    process = victim.start(behaviour)
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    return victim, process


def ended(process: subprocess.Popen[str], limit: float) -> str:
    started = time.monotonic()
    _, errors = process.communicate(timeout=20)
    assert time.monotonic() - started < limit
    return errors


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_ends_the_run_and_says_how_to_go_on(tmp_path: Path, number: int, code: int) -> None:
    moments = random.Random(code)
    for _ in range(2):
        # So many that none of the moments comes when all is done and the interpreter ends.
        victim, process = opened(tmp_path, "works", seeds=1500)
        time.sleep(moments.uniform(0.4, 0.8))
        process.send_signal(number)
        errors = ended(process, 5)
        victim.look()
        if process.returncode == 0:
            break
        assert process.returncode == code
        count = len(Journal(victim.folder / "journal").entries)
        assert f"interrupted: {count} finished seeds" in errors
        assert f"digsite resume {victim.folder}" in errors
        assert "Traceback" not in errors
    victim.check(tmp_path / "replay")


@pytest.mark.parametrize("behaviour", ["waits", "blocks"])
def test_work_that_does_not_end_is_ended(tmp_path: Path, behaviour: str) -> None:
    victim, process = opened(tmp_path, behaviour)
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    errors = ended(process, 5 if behaviour == "blocks" else 2)
    assert process.returncode == 130
    assert f"digsite resume {victim.folder}" in errors
    victim.look()


def test_a_second_ctrl_c_ends_it_at_once(tmp_path: Path) -> None:
    victim, process = opened(tmp_path, "blocks")
    time.sleep(0.3)
    process.send_signal(signal.SIGINT)
    time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    errors = ended(process, 2)
    assert process.returncode == 130
    assert "digsite resume" in errors
    victim.look()


def test_a_second_process_is_refused_in_a_second(tmp_path: Path) -> None:
    victim, process = opened(tmp_path, "waits")
    try:
        second = victim.start()
        _, errors = second.communicate(timeout=20)
        assert second.returncode == 1
        assert f"another process (pid {process.pid})" in errors
        assert len(errors.strip().splitlines()) == 1
    finally:
        process.kill()
        process.communicate()
