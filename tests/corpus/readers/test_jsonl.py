"""JSON Lines are read in every compression, and damage and bombs are refused."""

import bz2
import gzip
import lzma
import random
import resource
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import zstandard

from pipeline.corpus.readers import base, jsonl
from pipeline.corpus.readers.base import ReadLimits, Row
from pipeline.errors import CorpusError
from tests.conftest import Figures

PACKED: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zst": zstandard.compress,
    ".xz": lzma.compress,
}
PACKERS = {f"{kind}{packed}": packer for kind in (".jsonl", ".ndjson") for packed, packer in PACKED.items()}
SQUEEZED = (".jsonl.gz", ".jsonl.bz2", ".jsonl.zst", ".jsonl.xz")
LINES = b'{"id": 1, "text": "one"}\n\n  \n{"id": 2, "text": "two"}\n{"id": 3'


def read_rows(path: Path, data: bytes, limits: ReadLimits | None = None) -> list[Row]:
    path.write_bytes(data)
    return list(jsonl.read(path, limits or ReadLimits()))


@pytest.mark.parametrize("suffix", jsonl.READER.suffixes)
def test_every_compression_gives_the_same_rows(suffix: str, tmp_path: Path) -> None:
    first, second, torn = read_rows(tmp_path / f"a{suffix}", PACKERS[suffix](LINES))
    assert (first.place, first.values) == ("line 1", {"id": 1, "text": "one"})
    assert (second.key, second.values["text"]) == ("4", "two")
    assert (torn.place, torn.values) == ("line 5", {})
    assert torn.error.startswith("not JSON")


def test_a_byte_order_mark_and_windows_line_ends_are_no_matter(tmp_path: Path) -> None:
    rows = read_rows(tmp_path / "a.jsonl", b'\xef\xbb\xbf{"text": "a"}\r\n{"text": "b"}\r\n')
    assert [row.values for row in rows] == [{"text": "a"}, {"text": "b"}]


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_a_nan_is_named_in_the_error(value: str, tmp_path: Path) -> None:
    (row,) = read_rows(tmp_path / "a.jsonl", f'{{"title": {value}, "text": "A text."}}'.encode())
    assert row.error == f"not JSON: {value} is no JSON; write null"
    (row,) = read_rows(tmp_path / "a.jsonl", b'{"title": "a: NaN, b" "text"}')
    assert "write null" not in row.error


def test_a_title_with_its_sentences_is_a_row(tmp_path: Path) -> None:
    good, bad = read_rows(tmp_path / "a.jsonl", b'["Mill", ["It stood.", " It burned."]]\n["no", "object"]\n')
    assert good.values == {"title": "Mill", "text": ["It stood.", " It burned."]}
    assert bad.error == "not a JSON object"


@pytest.mark.parametrize(
    "line", [b"[" * 100_000, b"1" * 5000, b'"\\ud800"', b"\xff\xfe", b"null", b"NaN", b'{"a": NaN}']
)
def test_a_hostile_line_is_one_bad_row(line: bytes, tmp_path: Path) -> None:
    bad, good = read_rows(tmp_path / "a.jsonl", line + b'\n{"text": "good"}')
    assert bad.error
    assert "\n" not in bad.error
    assert good.values == {"text": "good"}


@pytest.mark.parametrize("cut", [False, True])
def test_lines_are_whole_wherever_the_chunks_end(cut: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "_CHUNK", 7)
    monkeypatch.setattr(base, "LONGEST", 40)
    data = LINES + (b'"' + b"x" * 100 + b'"\n{"id": 4}' if cut else b"")
    rows = read_rows(tmp_path / "a.jsonl", data)
    assert [row.values.get("id") for row in rows] == ([1, 2, None, 4] if cut else [1, 2, None])
    assert rows[2].error.startswith("longer" if cut else "not JSON")


@pytest.mark.slow
@pytest.mark.parametrize("suffix", SQUEEZED)
def test_a_bomb_is_refused_at_once_and_in_little_memory(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"bomb{suffix}"
    zeros = bytes(1 << 20)
    openers = (gzip.open, bz2.open, zstandard.open, partial(lzma.open, preset=0))
    opener: Any = dict(zip(SQUEEZED, openers, strict=True))[suffix]
    with opener(path, "wb") as stream:
        for _ in range(70):
            stream.write(zeros)
    before, start = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
    with pytest.raises(CorpusError, match="refused as a bomb"):
        list(jsonl.read(path, ReadLimits()))
    assert time.process_time() - start < 3
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10


def test_a_bomb_that_is_packed_twice_is_refused_in_little_memory(tmp_path: Path) -> None:
    """Pack a hundred megabytes into some hundred bytes."""
    path = tmp_path / "bomb.jsonl.gz"
    path.write_bytes(gzip.compress(zstandard.compress(bytes(100 << 20))))
    assert path.stat().st_size < 10_000
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(CorpusError, match="refused as a bomb"):
        list(jsonl.read(path, ReadLimits()))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10


def test_more_bytes_than_the_limit_stop_the_read(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"more than 100 bytes; raise limits\.bytes"):
        read_rows(tmp_path / "a.jsonl", LINES * 10, ReadLimits(bytes=100))


@pytest.mark.parametrize("suffix", jsonl.READER.suffixes)
def test_damage_gives_rows_or_one_line_and_never_a_traceback(suffix: str, tmp_path: Path, figures: Figures) -> None:
    rng = random.Random(suffix)
    intact = PACKERS[suffix](LINES * 50)
    for _ in range(50):
        data = bytearray(intact)
        for _ in range(rng.randint(1, 4)):
            data[rng.randrange(len(data))] = rng.randrange(256)
        try:
            rows = read_rows(tmp_path / f"a{suffix}", bytes(data[: rng.randint(1, len(data))]))
        except CorpusError as error:
            assert "\n" not in str(error)  # noqa: PT017 (either outcome is right)
        else:
            assert all(isinstance(row, Row) for row in rows)
    figures({"damaged files": 150}, {"tracebacks": 0})


@pytest.mark.parametrize("suffix", SQUEEZED)
def test_a_file_that_was_cut_off_is_refused_and_not_read_in_part(suffix: str, tmp_path: Path) -> None:
    lines = b"".join(b'{"text": "%d"}\n' % random.Random(n).getrandbits(200) for n in range(5_000))
    packed = PACKERS[suffix](lines)
    with pytest.raises(CorpusError, match="is it complete"):
        read_rows(tmp_path / f"a{suffix}", packed[: len(packed) * 2 // 3])


@pytest.mark.parametrize("suffix", jsonl.READER.suffixes)
def test_an_ending_in_capitals_is_the_same_ending(suffix: str, tmp_path: Path) -> None:
    assert len(read_rows(tmp_path / f"A{suffix.upper()}", PACKERS[suffix](LINES))) == 3


def test_an_unsupported_encoding_is_named(tmp_path: Path) -> None:
    (row,) = read_rows(tmp_path / "a.jsonl", '{"text": "café"}'.encode("latin-1"))
    assert row.error.startswith("not UTF-8; save the file as UTF-8, or convert it: iconv -f WINDOWS-1252")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-32"])
def test_an_encoding_that_a_byte_order_mark_states_is_read(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "_CHUNK", 7)
    rows = read_rows(tmp_path / "a.jsonl", '{"text": "café"}\r\n{"text": "水车 😀"}\r\n'.encode(encoding))
    assert [row.values["text"] for row in rows] == ["café", "水车 😀"]
    with pytest.raises(
        CorpusError, match=f"its first bytes mark it as {encoding}, but its text is not; save the file as UTF-8"
    ):
        read_rows(tmp_path / "a.jsonl", '{"text": "café"}'.encode(encoding)[:-1])


def test_lines_that_a_carriage_return_ends_are_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for chunk in (5, 1 << 20):
        monkeypatch.setattr(base, "_CHUNK", chunk)
        assert [row.values for row in read_rows(tmp_path / "a.jsonl", b'{"a": 1}\r{"b": 2}\r')] == [{"a": 1}, {"b": 2}]
        assert [row.values for row in read_rows(tmp_path / "a.jsonl", b'{"a": 1}\r\n{"b": 2}\r\n')] == [
            {"a": 1},
            {"b": 2},
        ]
