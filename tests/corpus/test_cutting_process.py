"""Documents that are cut in another process are cut as here, also where that process dies."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pytest

from pipeline import corpus
from pipeline.corpus import cutting_process, parts, row_blocks
from pipeline.corpus.cutting import OTHERS, PLAIN
from pipeline.corpus.cutting_process import Cutter, cut
from pipeline.types import Document

TEXTS = [
    "The mill of Arden was built in 1702 by Ada Brannick. " * 40,
    "Die Mühle wurde am 3. Mai 1702 gebaut. " * 30,
    "磨坊建于1702年。它在山谷里。" * 60,
]


def batch(number: int) -> pa.RecordBatch:
    return parts.texts([Document(id=f"{number}-{n}", title=f"Mill {n}", text=text) for n, text in enumerate(TEXTS)])


@pytest.fixture(autouse=True)
def away(monkeypatch: pytest.MonkeyPatch) -> None:
    """All batches go to the other process."""
    monkeypatch.setattr(cutting_process, "_ALONE", -1)


def process(cutter: Cutter) -> int:
    assert cutter._child is not None
    return cutter._child._process.pid


def test_it_does_not_matter_where_documents_are_cut() -> None:
    here = [cut(batch(number)) for number in range(5)]
    with Cutter() as cutter:
        found = [cutter.submit(batch(number), 1) for number in range(5)]
        assert [one.result() for one in found] == here
        other = process(cutter)
    with pytest.raises(ProcessLookupError):
        os.kill(other, 0)
    assert parts.column(pa.Table.from_batches(here[:1]), "rules").tolist() == [PLAIN, OTHERS, OTHERS]


@pytest.mark.parametrize("after", [0, 2])
def test_what_a_killed_process_did_not_cut_is_cut_here(after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if not after:
        monkeypatch.setattr(cutting_process, "_CHILD", "raise SystemExit")
    with Cutter() as cutter:
        found = [cutter.submit(batch(number), 1).result() for number in range(after)]
        if after:
            os.kill(process(cutter), signal.SIGKILL)
        found += [cutter.submit(batch(number), 1).result() for number in range(after, 5)]
    assert found == [cut(batch(number)) for number in range(5)]


KILLED = """
import os, signal
from pipeline.corpus import cutting_process
from tests.corpus.test_cutting_process import batch
cutting_process._ALONE = -1
cutter = cutting_process.Cutter()
cutter.submit(batch(1), 1).result()
print(cutter._child._process.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_the_process_ends_with_the_one_that_was_killed() -> None:
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    status = Path(f"/proc/{int(done.stdout)}/status")
    until = time.monotonic() + 60
    while status.exists() and "(zombie)" not in status.read_text() and time.monotonic() < until:
        time.sleep(0.1)
    assert not status.exists() or "(zombie)" in status.read_text()


def test_a_corpus_is_the_same_wherever_it_was_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = corpus.resolve("tests/golden/recorded/wiki.jsonl.zst")
    monkeypatch.setattr(row_blocks, "_TOGETHER", 50_000)
    away = corpus.load(manifest, tmp_path / "away")
    monkeypatch.setattr(cutting_process, "_ALONE", 1 << 40)
    here = corpus.load(manifest, tmp_path / "here")
    assert away.fingerprint == here.fingerprint
    (one, other) = [{file.name: file.read_bytes() for file in out.glob("*/*/*.arrow")} for out in tmp_path.iterdir()]
    assert one == other
    assert len(one) == 3
