"""The Prefect flow, killed with its server: the journal decides what is owed, whatever Prefect's database holds."""

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


def server_gone(out: Path) -> bool:
    """It ends by itself when the command that started it is gone."""
    end = time.monotonic() + 10
    while orphans(out) and time.monotonic() < end:
        time.sleep(0.05)
    return not orphans(out)


def flow_runs(out: Path) -> Counter[str]:
    """Those that Prefect's database knows, by their states."""
    with closing(sqlite3.connect(f"file:{out / '.prefect/prefect.db'}?mode=ro", uri=True)) as database:
        return Counter(state for (state,) in database.execute("SELECT state_name FROM flow_run"))


@pytest.mark.parametrize(("kills", "seeds"), [pytest.param(10, 1000, marks=pytest.mark.chaos)])
def test_a_killed_flow_goes_on(tmp_path: Path, figures: Figures, kills: int, seeds: int) -> None:
    draw, remains, out = random.Random(kills), Remains(tmp_path / "out"), tmp_path / "out"
    command = [*FLOW, "--seeds", str(seeds)]
    for number in range(kills):
        process = start(out, *command, through=("pipeline.flow.main",))
        if number % 5:
            until_more(remains, process)
        time.sleep(draw.uniform(0.0, 1.5))
        assert kill(process), "it came to its end before it was killed"
        assert server_gone(out)
        remains.look()
    said = finished(start(out, *command, through=("pipeline.flow.main",)))
    assert server_gone(out)
    remains.whole(seeds)
    whole = Remains(tmp_path / "whole")
    finished(start(tmp_path / "whole", *CHEAP, "--seeds", str(seeds)))
    whole.whole(seeds)
    states = flow_runs(out)
    assert states["Completed"] == 1
    assert states["Running"] == 0, "what was killed is shown as running"
    size = {"kills": kills, "seeds": seeds, "flow runs": states.total()}
    figures(size, {"lost": 0, "doubled": 0, "orphans": 0, LOCKED: said.count(LOCKED)})
    assert LOCKED not in said
    assert (remains.known, remains.shards()) == (whole.known, whole.shards())


@pytest.mark.chaos
def test_a_run_does_without_its_server(tmp_path: Path, figures: Figures) -> None:
    """It ends as it would have, with one line of warning; a signal still ends it in order."""
    out, seeds = tmp_path / "out", 200
    command, remains = [*FLOW, "--seeds", str(seeds)], Remains(out)
    process = start(out, *command, through=("pipeline.flow.main",))
    until_more(remains, process)
    kill_server(out)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, said = process.communicate(timeout=100)
    slowest = time.monotonic() - began
    assert process.returncode == 130, said
    assert "digsite resume" in said
    process = start(out, *command, through=("pipeline.flow.main",))
    until_more(remains, process)
    kill_server(out)
    said = finished(process, timeout=200)
    assert "Prefect's server does not know how this run ended" in said
    assert "Traceback" not in said
    remains.whole(seeds)
    assert remains.shards()
    figures({"kills": 2, "seeds": seeds}, {"lost": 0, "doubled": 0, "slowest end in s": round(slowest, 1)})


def kill_server(out: Path) -> None:
    (server,) = processes(out, b"pipeline.flow.server")
    os.kill(server, signal.SIGKILL)
