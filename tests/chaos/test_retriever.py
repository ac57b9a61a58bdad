"""If the retrieval server is killed with its JVM again and again, the run waits for it and no seed fails."""

import random
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.chaos.command import CHEAP, ROOT, Remains, finished, start, until_more
from tests.conftest import Figures


class Server:
    """`digsite serve` over Lucene on one port, for ever."""

    def __init__(self, out: Path) -> None:
        self.out = out
        with socket.create_server(("127.0.0.1", 0)) as listening:
            self.port = listening.getsockname()[1]

    def start(self) -> None:
        command = [sys.executable, "-m", "pipeline.cli", "serve", "tiny", "--port", str(self.port)]
        self.process = subprocess.Popen(
            [*command, "--out", str(self.out)], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
        )
        assert self.process.stdout
        assert self.process.stdout.readline()

    def kill(self) -> None:
        self.process.kill()
        self.process.communicate()


def start_run(out: Path, server: Server, seeds: int) -> subprocess.Popen[str]:
    url = f"http://127.0.0.1:{server.port}/retrieve#tiny"
    return start(out, *CHEAP, "--retriever", url, "--seeds", str(seeds), "--concurrency", "4")


@pytest.mark.parametrize(("kills", "seeds"), [pytest.param(20, 400, marks=pytest.mark.chaos)])
def test_a_run_waits_for_a_dead_retriever(tmp_path: Path, figures: Figures, kills: int, seeds: int) -> None:
    rng, server, remains = random.Random(0), Server(tmp_path), Remains(tmp_path / "out")
    server.start()
    try:
        undisturbed = Remains(tmp_path / "whole")
        finished(start_run(tmp_path / "whole", server, seeds))
        undisturbed.whole(seeds)
        process, deaths = start_run(tmp_path / "out", server, seeds), 0
        while deaths < kills:
            until_more(remains, process)
            time.sleep(rng.uniform(0.0, 0.5))
            assert process.poll() is None, "it came to its end before the last kill"
            server.kill()
            deaths += 1
            time.sleep(rng.uniform(0.0, 1.0))
            server.start()
        finished(process)
    finally:
        server.kill()
    remains.whole(seeds)
    failed = sum(b'"status":"failed"' in line for line in remains.known.values())
    figures({"deaths": deaths, "seeds": seeds}, {"failed": failed, "other bytes": 0})
    assert failed == 0
    assert (remains.known, remains.shards()) == (undisturbed.known, undisturbed.shards())
