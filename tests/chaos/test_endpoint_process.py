"""A command survives a killed, refusing or broken endpoint process, and leaves no key anywhere."""

import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq
import pytest
import zstandard

from pipeline.llm.reply import KEY_MARK
from tests.chaos.command import KEY, ROOT, over, start
from tests.chaos.endpoint import serving

SETTINGS = "--retriever bm25 --steps 1-2 --seeds 4 --no-flow --set loop.rollouts=2 --set loop.rounds=1".split()


def wait_for_end(process: subprocess.Popen[str]) -> tuple[int, str]:
    out, err = process.communicate(timeout=1200)
    return process.returncode, out + err


def read_everything(folder: Path) -> Iterator[tuple[Path, str]]:
    """Yield every file below with its decompressed text."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
        text = path.read_bytes().decode(errors="replace")
        if path.suffix == ".parquet":
            text += str(pq.read_table(path).to_pylist())
        if path.name == "cache.sqlite":
            with sqlite3.connect(path) as database:
                values = [value[8:] for (value,) in database.execute("SELECT value FROM answers")]
            assert values
            text += "".join(zstandard.ZstdDecompressor().decompress(value).decode() for value in values)
        yield path, text


class Guarded(NamedTuple):
    """A run whose every dial is told on stderr, over an endpoint that breaks a tenth of its answers."""

    url: str
    out: Path
    output: str


@pytest.fixture(scope="module")
def guarded_run(tmp_path_factory: pytest.TempPathFactory) -> Guarded:
    folder = tmp_path_factory.mktemp("guarded")
    # An address taken from the environment would be this one.
    proxies = dict.fromkeys(("HTTP_PROXY", "http_proxy", "OPENAI_BASE_URL"), "http://127.0.0.1:1")
    with serving(folder / "notes", "0.1") as endpoint:
        arguments = ["generate", "tiny", *SETTINGS, *over(endpoint.url), "--debug", "--seeds", "3"]
        options = ["--out", str(folder / "out"), "--set", "models.default.limits.timeout_seconds=3"]
        process = subprocess.run(
            [sys.executable, "-c", GUARDED, *arguments, *options],
            cwd=ROOT, env={**os.environ, **proxies, "CANARY_KEY": KEY},
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
    assert process.returncode == 0, process.stderr
    return Guarded(endpoint.url, folder / "out", process.stdout + process.stderr)


def test_the_key_is_in_no_file_and_no_message(guarded_run: Guarded) -> None:
    assert KEY not in guarded_run.output
    texts = list(read_everything(guarded_run.out))
    assert {"cache.sqlite", "run.json", "report.html", "attempts.jsonl"} <= {path.name for path, _ in texts}
    assert [path for path, text in texts if KEY in text] == []


@pytest.mark.slow
def test_a_key_echoed_in_errors_is_never_shown(tmp_path: Path) -> None:
    with serving(tmp_path / "notes", "echo") as endpoint:
        code, output = wait_for_end(start(tmp_path / "out", *SETTINGS, *over(endpoint.url), "--debug"))
    assert code == 1
    assert KEY not in output
    assert "CANARY_KEY" in output.splitlines()[-1]
    assert [path for path, text in read_everything_but_cache(tmp_path / "out") if KEY in text] == []


@pytest.mark.slow
def test_a_key_echoed_in_answers_is_never_published(tmp_path: Path) -> None:
    with serving(tmp_path / "notes", "repeat") as endpoint:
        code, output = wait_for_end(start(tmp_path / "out", *SETTINGS, *over(endpoint.url), "--debug", "--seeds", "12"))
    assert code == 0, output
    assert KEY not in output
    texts = list(read_everything(tmp_path / "out"))
    assert [path for path, text in texts if KEY in text] == []
    assert {".jsonl", ".sqlite", ".parquet"} <= {path.suffix for path, text in texts if KEY_MARK in text}
    assert {"README.md", "report.html"} <= {path.name for path, _ in texts}


GUARDED = """
import sys

def dialled(event, arguments):
    if event == "socket.connect" and isinstance(arguments[1], tuple):
        print("dialled", *arguments[1][:2], file=sys.stderr)
    elif event == "socket.getaddrinfo":
        print("looked up", arguments[0], file=sys.stderr)

sys.addaudithook(dialled)
from pipeline.cli import main
main(sys.argv[1:])
"""


def test_only_the_configured_endpoint_is_contacted(guarded_run: Guarded) -> None:
    connections = {line for line in guarded_run.output.splitlines() if line.startswith(("dialled", "looked up"))}
    host, port = guarded_run.url.split("/")[2].split(":")
    assert f"dialled {host} {port}" in connections
    assert connections <= {f"dialled {host} {port}", f"looked up {host}"}


def read_everything_but_cache(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        yield path, path.read_bytes().decode(errors="replace")
