"""Parquet files become rows, and broken ones are refused."""

import subprocess
import sys
import time
import uuid
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline import corpus
from pipeline.corpus.readers import parquet
from pipeline.corpus.readers.base import ReadLimits
from pipeline.errors import CorpusError

READ = """
import resource, sys
from pathlib import Path
resource.setrlimit(resource.RLIMIT_AS, (6 << 30, 6 << 30))
from pipeline import corpus
try:
    corpus.load(corpus.resolve(sys.argv[1]))
except corpus.loading.CorpusError as error:
    print(error)
# Not getrusage's figure, which a child inherits.
print(next(int(line.split()[1]) >> 10 for line in Path("/proc/self/status").open() if line.startswith("VmHWM")))
"""


def write_dictionary_bomb(path: Path, text: str, rows: int) -> None:
    """Write a file whose rows all refer to one dictionary entry."""
    column = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([text]))
    pq.write_table(pa.table({"text": column}), path, compression="zstd", store_schema=False)


def write_prefix_bomb(path: Path, text: str, rows: int) -> None:
    """Write a file whose rows each repeat the previous one in full."""
    with pq.ParquetWriter(
        path, pa.schema([("text", pa.string())]), compression="zstd", use_dictionary=False, write_statistics=False,
        column_encoding={"text": "DELTA_BYTE_ARRAY"}, store_schema=False,
    ) as writer:  # fmt: skip
        writer.write_table(pa.table({"text": pa.array([text] * rows)}))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.parquet"
    texts = [f"Text number {n} of a long row of texts." for n in range(3000)]
    pq.write_table(pa.table({"doc": range(3000), "body": texts}), path, row_group_size=500)
    return path


def test_all_rows_come_in_order(path: Path) -> None:
    rows = list(parquet.read(path, ReadLimits()))
    assert [row.values["doc"] for row in rows] == list(range(3000))
    assert (rows[7].place, rows[7].key) == ("row 8", "8")


def test_a_parquet_corpus_loads_with_its_own_field_names(path: Path) -> None:
    loaded = corpus.load(corpus.resolve(str(path), text_field="body", id_field="doc"))
    assert (loaded.counts.kept, loaded.documents[2999].id) == (3000, "2999")


def test_the_size_is_judged_before_anything_is_unpacked(path: Path) -> None:
    with pytest.raises(CorpusError, match="more than 1000 bytes"):
        next(parquet.read(path, ReadLimits(bytes=1000)))


@pytest.mark.parametrize("keep", [0, 4, 100, 5000, -1, -9])
def test_a_torn_or_empty_file_is_one_line(keep: int, path: Path) -> None:
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(CorpusError, match="cannot be read as Parquet") as caught:
        list(parquet.read(path, ReadLimits()))
    assert "\n" not in str(caught.value)


def test_columns_that_are_no_part_of_a_document_are_left_packed(tmp_path: Path) -> None:
    path, dates = tmp_path / "a.parquet", pa.array([2**45], pa.timestamp("s"))
    twins = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(pa.table({"id": [1], "text": ["A text."], "when": dates, "twins": twins}), path)
    assert corpus.load(corpus.resolve(str(path))).counts.kept == 1
    with pytest.raises(CorpusError, match="field 'twins' is not text"):
        corpus.load(corpus.resolve(str(path), text_field="twins"))


def test_ids_that_a_gap_made_floats_are_whole_numbers_again(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [7.0, None], "text": ["A text.", "Another text."]}), path)
    assert [document.id for document in corpus.load(corpus.resolve(str(path))).documents] == ["7", "2"]


@pytest.mark.slow
@pytest.mark.parametrize(("write", "rows"), [(write_dictionary_bomb, 4000), (write_prefix_bomb, 50)])
def test_a_bomb_of_repeated_texts_is_refused_within_little_memory(write, rows: int, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    write(path, "x" * 10_000_000, rows)  # 40 GB, and half of one
    assert path.stat().st_size < 10_000
    process = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)
    line, megabytes = process.stdout.splitlines()
    assert line.endswith("unpacks to more than 200 times its size; refused as a bomb")
    assert int(megabytes) < 700


def test_a_text_that_is_too_long_is_a_bad_row_and_many_repeated_ones_are_none(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parquet, "LONGEST", 1000)
    write_dictionary_bomb(tmp_path / "b.parquet", "x" * 1001, 3)
    assert [row.error for row in parquet.read(tmp_path / "b.parquet", ReadLimits())] == ["a text longer than 0 MiB"] * 3
    write_dictionary_bomb(tmp_path / "c.parquet", "x" * 1000, 3000)
    assert [row.values["text"] for row in parquet.read(tmp_path / "c.parquet", ReadLimits())] == ["x" * 1000] * 3000


def test_what_rows_hold_counts_against_the_limit_whatever_the_footer_says(tmp_path: Path) -> None:
    write_dictionary_bomb(tmp_path / "a.parquet", "x" * 1000, 3000)
    with pytest.raises(CorpusError, match="more than 100000 bytes"):
        list(parquet.read(tmp_path / "a.parquet", ReadLimits(bytes=100_000)))


def test_texts_in_bytes_and_in_lists_and_ids_of_other_types_are_read(tmp_path: Path) -> None:
    path, keys = tmp_path / "a.parquet", [uuid.UUID(int=n) for n in range(3)]
    columns = {
        "id": pa.array([key.bytes for key in keys], pa.uuid()),
        "number": pa.array([Decimal(n) for n in range(3)], pa.decimal128(20, 0)),
        "text": pa.array([b"The mill.", None, "The café.".encode()]),
        "sentences": [["The mill.", " It burned."], None, ["The café."]],
        "paragraphs": [[["The mill.", " It burned."], []], None, [["The café."]]],
        "picture": [b"\x89PNG\xff", None, b""],
        "vector": [[0.5], [1.5], []],
    }
    for has_schema in (True, False):
        pq.write_table(pa.table(columns), path, store_schema=has_schema)
        for name, first in (
            ("text", "The mill."),
            ("sentences", "The mill. It burned."),
            ("paragraphs", "The mill. It burned."),
        ):
            loaded = corpus.load(corpus.resolve(str(path), text_field=name))
            assert [(d.id, d.text) for d in loaded.documents] == [(str(keys[0]), first), (str(keys[2]), "The café.")]
        assert corpus.load(corpus.resolve(str(path), id_field="number")).documents[1].id == "2"
        for name in ("picture", "vector"):
            with pytest.raises(CorpusError, match=f"field '{name}' is not text"):
                corpus.load(corpus.resolve(str(path), text_field=name))


def test_bytes_that_are_no_text_among_texts_are_a_bad_row(tmp_path: Path) -> None:
    texts = [f"The mill number {n}.".encode() for n in range(400)]
    pq.write_table(pa.table({"text": [*texts, b"\xff\xfe"], "other": [*texts, b"\xff"]}), tmp_path / "a.parquet")
    loaded = corpus.load(corpus.resolve(str(tmp_path / "a.parquet")))
    assert loaded.counts.kept == 400
    assert loaded.offenders == ("row 401: field 'text' is not text; name it with --text-field",)


@pytest.mark.slow
@pytest.mark.parametrize("nested", [False, True])
def test_a_bomb_in_a_list_is_refused_within_little_memory(nested: bool, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 200, pa.int32()), pa.array(["x" * 20_000_000]))
    column = pa.ListArray.from_arrays([0, 200], texts)
    column = pa.ListArray.from_arrays([0, 1], column) if nested else column
    pq.write_table(pa.table({"text": column}), path, compression="zstd", store_schema=False)
    process = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)
    line, megabytes = process.stdout.splitlines()
    assert line.endswith("unpacks to more than 200 times its size; refused as a bomb")
    assert int(megabytes) < 700


def test_a_bomb_of_empty_texts_in_a_list_is_refused_by_its_footer(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    texts = pa.array(np.zeros(70_000_000, np.int32)), pa.array([""])
    column = pa.ListArray.from_arrays([0, 70_000_000], pa.DictionaryArray.from_arrays(*texts))
    pq.write_table(pa.table({"text": column}), path, compression="zstd")
    with pytest.raises(CorpusError, match="refused as a bomb"):
        next(parquet.read(path, ReadLimits()))


@pytest.mark.parametrize(
    "written", [{}, {"store_schema": False}, {"use_dictionary": False}, {"data_page_version": "2.0"}]
)
def test_fields_of_structs_are_read_by_their_paths_and_their_vectors_are_left_packed(written, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    rows = [
        {
            "document": {"id": n, "title": f"Mill {n}", "text": f"The mill {n}.", "vector": [0.5]},
            "body": [{"text": "The mill.", "number": 7}, {"text": f"It burned {n} times.", "number": 8}],
            "picture": {"bytes": b"\xff", "path": None},
            "a.b": "flat",
        }
        for n in range(3)
    ]
    pq.write_table(pa.Table.from_pylist(rows), path, **written)
    assert next(parquet.read(path, ReadLimits())).values["document"] == {
        "id": 0,
        "title": "Mill 0",
        "text": "The mill 0.",
    }
    names = {"text_field": "document.text", "title_field": "document.title", "id_field": "document.id"}
    loaded = corpus.load(corpus.resolve(str(path), **names))
    assert [(d.id, d.title, d.text) for d in loaded.documents][2] == ("2", "Mill 2", "The mill 2.")
    for name in ("body", "body.text"):
        loaded = corpus.load(corpus.resolve(str(path), text_field=name))
        assert loaded.documents[2].text == "The mill.\nIt burned 2 times."
    assert corpus.load(corpus.resolve(str(path), text_field="a.b")).documents[0].text == "flat"


def test_a_bomb_in_a_struct_is_refused_within_little_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 4000, pa.int32()), pa.array(["x" * 10_000_000]))
    column = pa.StructArray.from_arrays([texts], names=["text"])
    pq.write_table(pa.table({"document": column}), path, compression="zstd", store_schema=False)
    answer = subprocess.run([sys.executable, "-c", READ, path], capture_output=True, text=True, check=True)
    line, megabytes = answer.stdout.splitlines()
    assert line.endswith("unpacks to more than 200 times its size; refused as a bomb")
    assert int(megabytes) < 700


def encode_varint(number: int) -> bytes:
    """Encode a whole number as a Parquet footer does."""
    number, written = number << 1, []
    while number > 127:
        written.append(number & 127 | 128)
        number >>= 7
    return bytes([*written, number])


def overwrite_footer_number(path: Path, true: int, false: int) -> None:
    """Replace a number in the footer by another of the same length."""
    data = path.read_bytes()
    begin = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    size = len(encode_varint(true))
    number = encode_varint(false).ljust(size, b"\0")
    padded = bytes(byte | 128 for byte in number[:-1]) + number[-1:]
    assert encode_varint(true) in data[begin:]
    path.write_bytes(data[:begin] + data[begin:].replace(encode_varint(true), padded))


@pytest.mark.slow
def test_a_footer_that_lies_of_its_sizes_fills_no_memory(tmp_path: Path) -> None:
    path, size = tmp_path / "pages.parquet", 150 << 20
    table = pa.table({"text": ["A" * size, "B" * size]})
    pq.write_table(
        table, path, compression="zstd", use_dictionary=False, write_statistics=False, data_page_size=1 << 30
    )
    group = pq.read_metadata(path).row_group(0)
    for true in {group.total_byte_size, group.column(0).total_uncompressed_size}:
        overwrite_footer_number(path, true, 900)
    assert pq.read_metadata(path).row_group(0).total_byte_size == 900
    done = subprocess.run([sys.executable, "-c", READ, str(path)], capture_output=True, text=True, check=True)
    line, most = done.stdout.splitlines()
    assert line == f"{path}: unpacks to more than 200 times its size; refused as a bomb"
    assert int(most) < 500


def test_a_page_without_a_header_is_one_line(tmp_path: Path) -> None:
    path = tmp_path / "pages.parquet"
    pq.write_table(pa.table({"text": ["Kessel Bridge"]}), path)
    data = path.read_bytes()
    path.write_bytes(data[:4] + b"\xff" * 40 + data[44:])
    with pytest.raises(CorpusError, match="cannot be read as Parquet"):
        list(parquet.read(path, ReadLimits()))


@pytest.mark.slow
def test_many_columns_of_dates_are_read_in_linear_time(tmp_path: Path) -> None:
    """20,000 of them took two minutes: each column copied the list of all others."""
    days = {f"day {n}": pa.array([date(2020, 1, 2)]) for n in range(10_000)}
    pq.write_table(pa.table({"text": ["A text."], **days}), tmp_path / "a.parquet")
    before = time.process_time()
    rows = list(parquet.read(tmp_path / "a.parquet", ReadLimits()))
    assert time.process_time() - before < 12
    assert rows[0].values["day 9999"] == "2020-01-02"


def test_more_pieces_than_can_be_looked_at_are_one_line(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_MOST_PIECES", 11)
    with pytest.raises(CorpusError, match="2 columns times 6 row groups are more than 11 column chunks; write only"):
        next(parquet.read(path, ReadLimits()))
