"""Ctrl-C and SIGTERM end a command within two seconds, whatever it is doing, and the same command goes on from there.

The bound of the tests is wider, for busy machines.
"""

import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import orjson
import pytest

DIGSITE = [sys.executable, "-m", "pipeline.cli"]
IN_FLOW = [sys.executable, "-m", "pipeline.flow.main"]
SECONDS = 5.0
DOCUMENTS = 9_000


def start(command: list[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def wait_until(condition: Callable[[], object], process: "subprocess.Popen[str]") -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() in (None, 0), process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)


def has_open(process: "subprocess.Popen[str]", folder: str) -> bool:
    """Return whether the process has a folder of that pattern open, or has ended well."""
    links = Path(f"/proc/{process.pid}/fd").glob("*")
    return process.poll() == 0 or any(link.readlink().match(folder) for link in links if link.is_symlink())


def seconds_to_end(process: "subprocess.Popen[str]", number: signal.Signals) -> float:
    process.send_signal(number)
    sent = time.monotonic()
    process.wait(60)
    seconds = time.monotonic() - sent
    _, errors = process.communicate()
    assert process.returncode == 128 + number, errors
    assert "the same command continues from there" in errors.splitlines()[-1]
    assert "Traceback" not in errors
    return seconds


@pytest.fixture(scope="module")
def documents(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Texts with many names in common, so that reading, indexing and linking them takes seconds each."""
    draw = random.Random(1)
    syllables = [first + second for first in "bcdfghklmnprst" for second in "aeiou"]
    words = ["".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(5_000)]
    names = [" ".join(draw.sample(words, 2)).title() for _ in range(DOCUMENTS)]
    path = tmp_path_factory.mktemp("documents") / "names.jsonl"
    with path.open("wb") as lines:
        for number, name in enumerate(names):
            sentences = [" ".join(["In", *draw.sample(words, 9), "of", draw.choice(names)]) for _ in range(40)]
            document = {"id": f"d{number}", "title": name, "text": ". ".join(sentences)}
            lines.write(orjson.dumps(document, option=orjson.OPT_APPEND_NEWLINE))
    return path


@pytest.mark.slow
def test_a_corpus_is_left_at_any_moment_and_the_same_command_goes_on(documents: Path, tmp_path: Path) -> None:
    phases = {
        "read": (["search", str(documents), "bridge", "--retriever", "lucene"], "corpora/names-*.incomplete"),
        "index": (["search", str(documents), "bridge", "--retriever", "lucene"], "indexes/*.incomplete"),
        "link": (["links", str(documents)], "corpora/names-*/links-*.incomplete"),
    }
    slowest = dict.fromkeys(phases, 0.0)
    for phase, (arguments, unfinished) in phases.items():
        command = [*DIGSITE, *arguments, "--out", str(tmp_path)]
        for number, pause in ((signal.SIGINT, 0.0), (signal.SIGTERM, 0.3), (signal.SIGTERM, 1.0), (signal.SIGINT, 2.0)):
            process = start(command)
            wait_until(partial(has_open, process, unfinished), process)
            time.sleep(pause)
            if process.poll() == 0:
                process.communicate()
                continue
            slowest[phase] = max(slowest[phase], seconds_to_end(process, number))
    assert max(slowest.values()) < SECONDS, slowest
    for arguments, _ in phases.values():
        done = subprocess.run(
            [*DIGSITE, *arguments, "--out", str(tmp_path)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert [path for pattern in ("*.incomplete", ".*.tmp", "*.old") for path in tmp_path.rglob(pattern)] == []


@pytest.mark.parametrize(
    ("command", "number"),
    [
        pytest.param(DIGSITE, signal.SIGTERM, id="SIGTERM"),
        pytest.param(DIGSITE, signal.SIGINT, id="SIGINT"),
        pytest.param(IN_FLOW, signal.SIGTERM, id="SIGTERM in a flow", marks=pytest.mark.slow),
        pytest.param(IN_FLOW, signal.SIGINT, id="SIGINT in a flow", marks=pytest.mark.slow),
    ],
)
def test_a_command_that_waits_for_an_answer_ends(command: list[str], number: signal.Signals, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        silent.settimeout(120)
        model = ["--model", "openai:silent", "--base-url", f"http://127.0.0.1:{silent.getsockname()[1]}/v1"]
        process = start(
            [*command, "generate", "tiny", *model, "--wait", "60", "--retriever", "bm25", "--out", str(tmp_path)]
        )
        connection, _ = silent.accept()
        time.sleep(0.5)
        assert seconds_to_end(process, number) < SECONDS
        connection.close()


ENDED_BY_FORCE = """
import os, signal, sqlite3, sys, threading, time
from pipeline.run.interrupt import ended_by_force
signal.signal(signal.SIGTERM, lambda number, frame: sys.exit("in order"))
with ended_by_force():
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGTERM)).start()
    {body}
"""
IN_C = """sqlite3.connect(":memory:").execute(
        "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT count(*) FROM n")"""
WITH_A_THREAD = "threading.Thread(target=time.sleep, args=(60,)).start(); time.sleep(60)"
FORCED = "digsite: stopped by force; finished work is kept, and the same command continues from there\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "line"), [(IN_C, FORCED), (WITH_A_THREAD, "in order\n")], ids=["in C", "with a thread"]
)
def test_a_process_that_does_not_end_is_ended_by_force(body: str, line: str) -> None:
    process = start([sys.executable, "-c", ENDED_BY_FORCE.format(body=body)])
    began = time.monotonic()
    _, errors = process.communicate(timeout=60)
    assert time.monotonic() - began < 20
    assert (process.returncode, errors) == (128 + signal.SIGTERM, line)


def test_a_second_signal_ends_at_once() -> None:
    body = f"threading.Timer(0.7, os.kill, (os.getpid(), signal.SIGINT)).start(); {IN_C}"
    process = start([sys.executable, "-c", ENDED_BY_FORCE.format(body=body)])
    _, errors = process.communicate(timeout=60)
    assert (process.returncode, errors) == (128 + signal.SIGTERM, FORCED)
