"""The command against an endpoint in a process of its own: killed, refused, broken; and no key anywhere after it."""

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


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    out, err = process.communicate(timeout=1200)
    return process.returncode, out + err


def everything(folder: Path) -> Iterator[tuple[Path, str]]:
    """The text of every file below, decompressed."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()):
        text = path.read_bytes().decode(errors="replace")
        if path.suffix == ".parquet":
            text += str(pq.read_table(path).to_pylist())
        if path.name == "cache.sqlite":
            with sqlite3.connect(path) as database:
                kept = [value[8:] for (value,) in database.execute("SELECT value FROM answers")]
            assert kept
            text += "".join(zstandard.ZstdDecompressor().decompress(value).decode() for value in kept)
        yield path, text


class Guarded(NamedTuple):
    """A run whose every dial is told on stderr, over an endpoint that breaks a tenth of its answers."""

    url: str
    out: Path
    said: str


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Guarded:
    folder = tmp_path_factory.mktemp("guarded")
    # Where another address was taken from the surroundings, it would be this one.
    elsewhere = dict.fromkeys(("HTTP_PROXY", "http_proxy", "OPENAI_BASE_URL"), "http://127.0.0.1:1")
    with serving(folder / "notes", "0.1") as endpoint:
        asked = [
            "generate",
            "tiny",
            *SETTINGS,
            *over(endpoint.url),
            "--debug",
            "--seeds",
            "3",
            "--out",
            str(folder / "out"),
        ]
        done = subprocess.run(
            [sys.executable, "-c", GUARDED, *asked, "--set", "models.default.limits.timeout_seconds=3"],
            cwd=ROOT, env={**os.environ, **elsewhere, "CANARY_KEY": KEY},
            capture_output=True, text=True, check=False, timeout=300,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return Guarded(endpoint.url, folder / "out", done.stdout + done.stderr)


def test_the_key_is_in_no_file_and_no_line(guarded: Guarded) -> None:
    assert KEY not in guarded.said
    texts = list(everything(guarded.out))
    assert {"cache.sqlite", "run.json", "report.html", "attempts.jsonl"} <= {path.name for path, _ in texts}
    assert [path for path, text in texts if KEY in text] == []


def test_a_server_that_shows_the_key_to_everybody_does_not_make_us_show_it(tmp_path: Path) -> None:
    with serving(tmp_path / "notes", "echo") as endpoint:
        code, said = ended(start(tmp_path / "out", *SETTINGS, *over(endpoint.url), "--debug"))
    assert code == 1
    assert KEY not in said
    assert "CANARY_KEY" in said.splitlines()[-1]
    assert [path for path, text in everything_but_cache(tmp_path / "out") if KEY in text] == []


def test_a_server_that_says_the_key_in_every_answer_does_not_make_us_publish_it(tmp_path: Path) -> None:
    with serving(tmp_path / "notes", "repeat") as endpoint:
        code, said = ended(start(tmp_path / "out", *SETTINGS, *over(endpoint.url), "--debug", "--seeds", "24"))
    assert code == 0, said
    assert KEY not in said
    texts = list(everything(tmp_path / "out"))
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


def test_nobody_is_dialled_but_the_endpoint_of_the_configuration(guarded: Guarded) -> None:
    told = {line for line in guarded.said.splitlines() if line.startswith(("dialled", "looked up"))}
    host, port = guarded.url.split("/")[2].split(":")
    assert f"dialled {host} {port}" in told
    assert told <= {f"dialled {host} {port}", f"looked up {host}"}


def everything_but_cache(folder: Path) -> Iterator[tuple[Path, str]]:
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        yield path, path.read_bytes().decode(errors="replace")
