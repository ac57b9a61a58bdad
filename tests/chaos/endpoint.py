"""A faulty server in its own process, which records what it answered, so that its clients can be killed."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from tests.chaos.command import ROOT


class Endpoint(NamedTuple):
    url: str
    notes: Path

    def answered(self) -> list[str]:
        """Return the digests of all answered requests in order."""
        return self.notes.read_text().split() if self.notes.exists() else []


@contextmanager
def serving(notes: Path, *how: str, port: int = 0) -> Iterator[Endpoint]:
    """Run `python -m tests.chaos.faulty_server NOTES ...`."""
    command = [sys.executable, "-m", "tests.chaos.faulty_server", str(notes), *how]
    environment = {**os.environ, "FAULTY_PORT": str(port)}
    process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        yield Endpoint(process.stdout.readline().strip(), notes)
    finally:
        process.kill()
        process.wait()
