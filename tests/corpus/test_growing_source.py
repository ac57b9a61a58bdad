"""A source that grows while it is read is refused in one line, and read in full once it has stopped."""

import gzip
import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.errors import CorpusError

TEXT = "The mill of Arden was built in 1702. It ground corn for two hundred years."
Entry = Callable[[int], bytes]


def make_json_line(n: int) -> bytes:
    return json.dumps({"id": f"d{n}", "title": f"T{n}", "text": f"{TEXT} It was mill number {n}."}).encode() + b"\n"


def make_paragraph(n: int) -> bytes:
    return f"{TEXT} It was mill number {n}.\n\n".encode()


def compress_line(n: int) -> bytes:
    return gzip.compress(make_json_line(n))


def compress_unfinished_line(n: int) -> bytes:
    """Return the start of a gzip member that its writer has not finished."""
    return compress_line(n) if n < 500 else compress_line(0)[:40]


@contextmanager
def append_forever(path: Path, entry: Entry) -> Iterator[None]:
    """Append to a file of 500 entries, again and again, until the block ends."""
    path.write_bytes(b"".join(map(entry, range(500))))
    has_ended = threading.Event()

    def write() -> None:
        n = 500
        with path.open("ab", buffering=0) as file:
            while not has_ended.wait(0.001):
                file.write(entry(n))
                n += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        yield
    finally:
        has_ended.set()
        writer.join()


@pytest.mark.parametrize(
    ("name", "entry"),
    [
        ("mills.jsonl", make_json_line),
        ("mills.txt", make_paragraph),
        ("mills.jsonl.gz", compress_line),
        ("folder/mills.txt", make_paragraph),
    ],
)
def test_a_file_that_grows_is_refused_until_it_has_grown(name: str, entry: Entry, tmp_path: Path) -> None:
    path, out = tmp_path / "source" / name, tmp_path / "out"
    path.parent.mkdir(parents=True)
    source = path if path.parent.name == "source" else path.parent
    with append_forever(path, entry):
        for _ in range(2):
            with pytest.raises(CorpusError, match="it changed while it was read; repeat the command when") as caught:
                corpus.load(corpus.resolve(str(source)), out)
            assert "\n" not in str(caught.value)
            assert not list(out.rglob("manifest.json"))
    grown = corpus.load(corpus.resolve(str(source)), out)
    shutil.copytree(tmp_path / "source", tmp_path / "copy")
    copy = tmp_path / "copy" / source.name
    assert grown.fingerprint == corpus.load(corpus.resolve(str(copy))).fingerprint


def test_a_packed_file_that_is_still_written_is_called_so(tmp_path: Path) -> None:
    path = tmp_path / "mills.jsonl.gz"
    with (
        append_forever(path, compress_unfinished_line),
        pytest.raises(CorpusError, match="it changed while it was read"),
    ):
        corpus.load(corpus.resolve(str(path)), tmp_path / "out")
    with pytest.raises(CorpusError, match="is it complete"):
        corpus.load(corpus.resolve(str(path)), tmp_path / "out")


def test_shards_that_come_while_others_are_read_are_not_left_out(tmp_path: Path) -> None:
    folder = tmp_path / "mills"
    folder.mkdir()

    def add(n: int) -> bytes:
        if n >= 500:
            (folder / f"{n}.jsonl").write_bytes(make_json_line(n))
        return b"" if n >= 500 else make_json_line(n)

    with append_forever(folder / "0.jsonl", add), pytest.raises(CorpusError, match="it changed while it was read"):
        corpus.load(corpus.resolve(str(folder)), tmp_path / "out")
    shards = list(folder.iterdir())
    assert corpus.load(corpus.resolve(str(folder)), tmp_path / "out").counts.kept == 499 + len(shards)
