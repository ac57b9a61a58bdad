"""If the Prefect flow is killed with its server, the journal decides what is owed, not Prefect's database."""

import os
import random
import signal
import sqlite3
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from tests.chaos.command import CHEAP, Remains, finished, kill, orphans, processes, start, until_more
from tests.conftest import Figures

FLOW = [option for option in CHEAP if option != "--no-flow"]
LOCKED = "database is locked"


def wait_for_server_end(out: Path) -> bool:
    """Wait until the server has ended by itself, since its command is gone."""
    end = time.monotonic() + 10
    while orphans(out) and time.monotonic() < end:
        time.sleep(0.05)
    return not orphans(out)


def count_flow_states(out: Path) -> Counter[str]:
    """Count the flow runs in Prefect's database by state."""
    with closing(sqlite3.connect(f"file:{out / '.prefect/prefect.db'}?mode=ro", uri=True)) as database:
        return Counter(state for (state,) in database.execute("SELECT state_name FROM flow_run"))


@pytest.mark.parametrize(("kills", "seeds"), [pytest.param(10, 1000, marks=pytest.mark.chaos)])
def test_a_killed_flow_resumes(tmp_path: Path, figures: Figures, kills: int, seeds: int) -> None:
    rng, remains, out = random.Random(kills), Remains(tmp_path / "out"), tmp_path / "out"
    command = [*FLOW, "--seeds", str(seeds)]
    for number in range(kills):
        process = start(out, *command, through=("pipeline.flow.main",))
        if number % 5:
            until_more(remains, process)
        time.sleep(rng.uniform(0.0, 1.5))
        assert kill(process), "it came to its end before it was killed"
        assert wait_for_server_end(out)
        remains.look()
    stderr = finished(start(out, *command, through=("pipeline.flow.main",)))
    assert wait_for_server_end(out)
    remains.whole(seeds)
    undisturbed = Remains(tmp_path / "whole")
    finished(start(tmp_path / "whole", *CHEAP, "--seeds", str(seeds)))
    undisturbed.whole(seeds)
    states = count_flow_states(out)
    assert states["Completed"] == 1
    assert states["Running"] == 0, "what was killed is shown as running"
    size = {"kills": kills, "seeds": seeds, "flow runs": states.total()}
    figures(size, {"lost": 0, "doubled": 0, "orphans": 0, LOCKED: stderr.count(LOCKED)})
    assert LOCKED not in stderr
    assert (remains.known, remains.shards()) == (undisturbed.known, undisturbed.shards())


@pytest.mark.chaos
def test_a_run_survives_the_loss_of_its_server(tmp_path: Path, figures: Figures) -> None:
    """The run ends as usual with one warning, and a signal still ends it cleanly."""
    out, seeds = tmp_path / "out", 200
    command, remains = [*FLOW, "--seeds", str(seeds)], Remains(out)
    process = start(out, *command, through=("pipeline.flow.main",))
    until_more(remains, process)
    kill_server(out)
    process.send_signal(signal.SIGINT)
    signalled_at = time.monotonic()
    _, stderr = process.communicate(timeout=100)
    slowest = time.monotonic() - signalled_at
    assert process.returncode == 130, stderr
    assert "digsite resume" in stderr
    process = start(out, *command, through=("pipeline.flow.main",))
    until_more(remains, process)
    kill_server(out)
    stderr = finished(process, timeout=200)
    assert "Prefect's server does not know how this run ended" in stderr
    assert "Traceback" not in stderr
    remains.whole(seeds)
    assert remains.shards()
    figures({"kills": 2, "seeds": seeds}, {"lost": 0, "doubled": 0, "slowest end in s": round(slowest, 1)})


def kill_server(out: Path) -> None:
    (server,) = processes(out, b"pipeline.flow.server")
    os.kill(server, signal.SIGKILL)
