"""If the real JVM runs out of memory or dies, the error is typed, no seed fails, and a repeat finishes the run."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.run_files import read_journal

ROOT = Path(__file__).resolve().parents[2]
FULL = """
import asyncio, sys
from pathlib import Path
from pipeline import corpus
from pipeline.errors import RetrievalError
from pipeline.corpus import jvm
from pipeline.retrieval.engines.lucene import LuceneRetriever
jvm.HEAP = "64m"
retriever = LuceneRetriever(corpus.load(corpus.resolve("tiny")), Path(sys.argv[1]))

def fill(held):
    size = 1 << 22
    while size >= 1 << 12:
        try:
            held.add(jvm.java("java.nio.ByteBuffer").allocate(size))
        except Exception:
            size //= 4

held = jvm.call(lambda: jvm.java("java.util.ArrayList")())
jvm.call(fill, held)
try:
    print("found", len(asyncio.run(retriever.search("Kessel Bridge " * 2000, 40))))
except RetrievalError as error:
    print(error)
jvm.call(held.clear)
print(asyncio.run(retriever.search("Kessel Bridge", 2))[0].passage.title)
"""
RUN = """
import sys
from pipeline.cli import main
from pipeline.corpus import jvm
from pipeline.retrieval.engines.lucene import LuceneRetriever
from pipeline.run import coordinator
coordinator.PAUSES = (0.01,) * len(coordinator.PAUSES)
trouble, passed, search = sys.argv.pop(1), [], LuceneRetriever._top

def top(self, queries, k):
    passed.append(k)
    if trouble == "halts" and len(passed) == 40:
        jvm.java("java.lang.Runtime").getRuntime().halt(9)
    if trouble == "fails" and len(passed) in (20, 21, 40):
        jvm.java("java.nio.ByteBuffer").allocate(2_000_000_000)
    return search(self, queries, k)

LuceneRetriever._top = top
main()
"""


def run_python(code: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=180, check=False)


def generate(trouble: str, out: Path) -> subprocess.CompletedProcess[str]:
    return run_python(RUN, trouble, "generate", "tiny", "--seeds", "4", "--no-flow", "--out", out)


@pytest.mark.slow
def test_a_full_heap_is_a_retrieval_error_and_the_jvm_recovers(tmp_path: Path) -> None:
    process = run_python(FULL, tmp_path)
    assert process.returncode == 0, process.stderr
    first, second = process.stdout.splitlines()
    assert first.startswith("Lucene failed: ")
    assert "OutOfMemoryError" in first
    assert second == "Kessel Bridge"


@pytest.mark.slow
def test_seeds_wait_for_a_failing_jvm_and_resume_after_a_dead_one(tmp_path: Path) -> None:
    undisturbed = generate("none", tmp_path / "whole")
    assert undisturbed.returncode == 0, undisturbed.stderr
    failing = generate("fails", tmp_path / "failing")
    assert failing.returncode == 0, failing.stderr
    assert read_journal(tmp_path / "failing" / "tiny/latest") == read_journal(tmp_path / "whole" / "tiny/latest")
    died = generate("halts", tmp_path / "died")
    assert died.returncode == 9
    finished = read_journal(tmp_path / "died" / "tiny/latest")
    assert len(finished) < 4
    resumed = generate("none", tmp_path / "died")
    assert resumed.returncode == 0, resumed.stderr
    assert read_journal(tmp_path / "died" / "tiny/latest") == read_journal(tmp_path / "whole" / "tiny/latest")
    assert finished.items() <= read_journal(tmp_path / "died" / "tiny/latest").items()
