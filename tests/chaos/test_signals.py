"""Ctrl-C and SIGTERM at any moment of the real command: at most five seconds, the journal whole, the line that says how
to go on, no process left behind.
"""

import random
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.chaos.command import CHEAP, Remains, orphans, start, until, until_more
from tests.conftest import Figures

SEEDS = 3000
"""So many that none of the signals comes when all is done."""
LUCENE = [*CHEAP, "--retriever", "lucene", "--seeds", str(SEEDS)]
SIGNALS = {"SIGINT": (signal.SIGINT,), "SIGTERM": (signal.SIGTERM,), "SIGINT twice": (signal.SIGINT, signal.SIGINT)}
CASES = [
    pytest.param(name, times, id=f"{name} {times}", marks=[pytest.mark.chaos] if times > 1 else [])
    for name, times in [("SIGINT", 1), *((name, 20) for name in SIGNALS)]
]


def ended(process: subprocess.Popen[str], signals: tuple[int, ...], pause: float = 0.2) -> tuple[float, str]:
    """Seconds from the last signal to the end, and what was said."""
    for number, one in enumerate(signals):
        time.sleep(pause if number else 0)
        process.send_signal(one)
    began = time.monotonic()
    _, errors = process.communicate(timeout=30)
    return time.monotonic() - began, errors


@pytest.mark.slow
@pytest.mark.parametrize(("name", "times"), CASES)
def test_signals_at_random_moments(tmp_path: Path, figures: Figures, name: str, times: int) -> None:
    """With Lucene, so with Java in the process. Once the journal is open the line says how to go on."""
    draw, remains, slowest, said = random.Random(name), Remains(tmp_path), 0.0, 0
    code = {-SIGNALS[name][0], 128 + SIGNALS[name][0]}
    for _ in range(times):
        process = start(tmp_path, *LUCENE)
        until_more(remains, process)
        time.sleep(draw.uniform(0.0, 1.0))
        seconds, errors = ended(process, SIGNALS[name], draw.uniform(0.0, 0.3))
        slowest = max(slowest, seconds)
        remains.look()
        assert process.returncode in code, errors
        assert "Traceback" not in errors
        # Once the seeds are done with, the second signal ends what comes after them.
        assert f"digsite resume {remains.run}" in errors or "the same command continues from there" in errors
        said += f"{len(remains.known)} finished seeds" in errors
        assert orphans(tmp_path) == []
    figures({"signals": times}, {"slowest end in s": round(slowest, 1), "lost": 0, "doubled": 0, "orphans": 0})
    assert slowest <= 5
    assert said or len(SIGNALS[name]) > 1, errors


def test_work_that_holds_up_the_process_is_ended(tmp_path: Path) -> None:
    process = start(tmp_path, *CHEAP, "--seeds", "9", through=("tests.chaos.wrapped", "block", "60"))
    until(lambda: (Remains(tmp_path).run / "journal").exists() or bool(list(tmp_path.glob("tiny/*/.lock"))), process)
    time.sleep(1.0)
    seconds, errors = ended(process, (signal.SIGINT,))
    assert seconds < 5
    assert process.returncode == 130
    # On a busy machine the signal may come before the first seed, when there is no run to name.
    assert "digsite resume" in errors or "the same command continues from there" in errors
