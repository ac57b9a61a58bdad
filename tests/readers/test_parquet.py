"""Parquet files as rows, and what is no Parquet file."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline import corpus
from pipeline.errors import CorpusError
from pipeline.readers import parquet
from pipeline.readers.base import Limits


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "a.parquet"
    texts = [f"Text number {n} of a long row of texts." for n in range(3000)]
    pq.write_table(pa.table({"doc": range(3000), "body": texts}), path, row_group_size=500)
    return path


def test_all_rows_come_in_order(path: Path) -> None:
    rows = list(parquet.read(path, Limits()))
    assert [row.values["doc"] for row in rows] == list(range(3000))
    assert (rows[7].place, rows[7].key) == ("row 8", "8")


def test_a_parquet_corpus_loads_with_its_own_field_names(path: Path) -> None:
    loaded = corpus.load(corpus.resolve(str(path), text_field="body", id_field="doc"))
    assert (loaded.counts.kept, loaded.documents[2999].id) == (3000, "2999")


def test_the_size_is_judged_before_anything_is_unpacked(path: Path) -> None:
    with pytest.raises(CorpusError, match="more than 1000 bytes"):
        next(parquet.read(path, Limits(bytes=1000)))


@pytest.mark.parametrize("keep", [0, 4, 100, 5000, -1, -9])
def test_a_torn_or_empty_file_is_one_line(keep: int, path: Path) -> None:
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(CorpusError, match="cannot be read as Parquet") as caught:
        list(parquet.read(path, Limits()))
    assert "\n" not in str(caught.value)


def test_columns_that_are_no_part_of_a_document_are_left_packed(tmp_path: Path) -> None:
    path, dates = tmp_path / "a.parquet", pa.array([2**45], pa.timestamp("s"))
    twins = pa.StructArray.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pq.write_table(pa.table({"id": [1], "text": ["A text."], "when": dates, "twins": twins}), path)
    assert corpus.load(corpus.resolve(str(path))).counts.kept == 1
    with pytest.raises(CorpusError, match="field 'twins' is no text"):
        corpus.load(corpus.resolve(str(path), text_field="twins"))


def test_ids_that_a_gap_made_floats_are_whole_numbers_again(tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [7.0, None], "text": ["A text.", "Another text."]}), path)
    assert [document.id for document in corpus.load(corpus.resolve(str(path))).documents] == ["7", "2"]
