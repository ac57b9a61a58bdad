"""A child process cuts documents exactly as this process does, even if it dies half-way."""

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


def make_batch(number: int) -> pa.RecordBatch:
    return parts.texts([Document(id=f"{number}-{n}", title=f"Mill {n}", text=text) for n, text in enumerate(TEXTS)])


@pytest.fixture(autouse=True)
def force_child_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cutting_process, "_ALONE", -1)


def child_pid(cutter: Cutter) -> int:
    assert cutter._child is not None
    return cutter._child.pid


def test_child_process_leaves_the_chunks_of_a_user_whole() -> None:
    with Cutter(uncut=True) as cutter:
        cuts = cutter.submit(make_batch(0), 1).result()
        assert cutter._child is not None
    assert cuts.equals(cut(make_batch(0), uncut=True))
    assert cuts.column("passages").to_pylist() == [1, 1, 1]


def test_child_process_cuts_documents_alike() -> None:
    expected = [cut(make_batch(number)) for number in range(5)]
    with Cutter() as cutter:
        futures = [cutter.submit(make_batch(number), 1) for number in range(5)]
        assert [future.result() for future in futures] == expected
        pid = child_pid(cutter)
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    assert parts.column(pa.Table.from_batches(expected[:1]), "rules").tolist() == [PLAIN, OTHERS, OTHERS]


@pytest.mark.parametrize("after", [0, 2])
def test_this_process_cuts_what_a_killed_child_left(after: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if not after:
        monkeypatch.setattr(cutting_process, "_CHILD", "raise SystemExit")
    with Cutter() as cutter:
        batches = [cutter.submit(make_batch(number), 1).result() for number in range(after)]
        if after:
            os.kill(child_pid(cutter), signal.SIGKILL)
        batches += [cutter.submit(make_batch(number), 1).result() for number in range(after, 5)]
    assert batches == [cut(make_batch(number)) for number in range(5)]


KILLED = """
import os, signal
from pipeline.corpus import cutting_process
from tests.corpus.test_cutting_process import make_batch
cutting_process._ALONE = -1
cutter = cutting_process.Cutter()
cutter.submit(make_batch(1), 1).result()
print(cutter._child.pid, flush=True)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_child_ends_with_its_killed_parent() -> None:
    parent = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True, timeout=120, check=False)
    assert parent.returncode == -signal.SIGKILL, parent.stderr
    status = Path(f"/proc/{int(parent.stdout)}/status")
    deadline = time.monotonic() + 60
    while status.exists() and "(zombie)" not in status.read_text() and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not status.exists() or "(zombie)" in status.read_text()


def test_a_corpus_has_the_same_bytes_wherever_it_is_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manifest = corpus.resolve("tests/golden/recorded/wiki.jsonl.zst")
    monkeypatch.setattr(row_blocks, "_TOGETHER", 50_000)
    away = corpus.load(manifest, tmp_path / "away")
    monkeypatch.setattr(cutting_process, "_ALONE", 1 << 40)
    here = corpus.load(manifest, tmp_path / "here")
    assert away.fingerprint == here.fingerprint
    (child_files, parent_files) = [
        {file.name: file.read_bytes() for file in out.glob("*/*/*.arrow")} for out in tmp_path.iterdir()
    ]
    assert child_files == parent_files
    assert len(child_files) == 3
