"""A folder of shards is one corpus, like the Hub's data sets."""

import bz2
import gzip
import lzma
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from pipeline import corpus
from pipeline.corpus.readers.base import ReadLimits
from pipeline.corpus.unreadable_files import in_words
from pipeline.errors import CorpusError

FIRST = [{"title": f"Mill {n}", "text": f"The mill of Arden was number {n}, and it stood there."} for n in range(3)]
SECOND = [{"title": f"Weir {n}", "text": f"The weir of Arden was number {n}, and it crossed."} for n in range(2)]


def make_lines(rows: list[dict[str, Any]]) -> bytes:
    return b"".join(orjson.dumps(row) + b"\n" for row in rows)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "data"
    path.mkdir()
    return path


def test_shards_of_json_lines_are_one_corpus_in_the_order_of_their_names(path: Path) -> None:
    (path / "b.ndjson").write_bytes(make_lines(SECOND))
    (path / "deep").mkdir()
    (path / "a.jsonl.gz").write_bytes(gzip.compress(make_lines(FIRST)))
    (path / "deep" / "c.jsonl").write_bytes(make_lines(SECOND[:1]))
    loaded = corpus.load(corpus.resolve(str(path)))
    assert [d.title for d in loaded.documents] == [row["title"] for row in (*FIRST, *SECOND)]
    assert (loaded.manifest.name, loaded.counts.read, loaded.counts.duplicate) == ("data", 6, 1)
    assert [d.id for d in loaded.documents][2:4] == ["a.jsonl.gz:3", "b.ndjson:1"]


def test_shards_of_parquet_lie_beside_a_card_and_may_be_links(path: Path, tmp_path: Path) -> None:
    for name, rows in (("blob1", FIRST), ("blob2", SECOND)):
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / name)
        (path / f"{name}.parquet").symlink_to(tmp_path / name)
    (path / "README.md").write_text("# The data set\n")
    loaded = corpus.load(corpus.resolve(str(path)))
    assert (loaded.manifest.reader, len(loaded.documents)) == ("parquet", 5)
    (tmp_path / "blob2").unlink()
    with pytest.raises(CorpusError, match="blob2.parquet: cannot be read"):
        corpus.load(corpus.resolve(str(path)))


def test_the_fingerprint_is_of_all_texts(path: Path) -> None:
    (path / "a.jsonl").write_bytes(make_lines(FIRST))
    (path / "b.jsonl").write_bytes(make_lines(SECOND))
    before = corpus.load(corpus.resolve(str(path))).fingerprint
    (path / "b.jsonl").write_bytes(make_lines(SECOND[:1]))
    assert corpus.load(corpus.resolve(str(path))).fingerprint != before


def test_a_bad_row_is_told_with_its_file(path: Path) -> None:
    (path / "a.jsonl").write_bytes(make_lines(FIRST))
    (path / "b.jsonl").write_bytes(b"{\n" + make_lines(SECOND))
    with pytest.raises(CorpusError, match=r"b\.jsonl, line 1: not JSON"):
        corpus.load(corpus.resolve(str(path)))


@pytest.mark.parametrize("second_file", ["b.parquet", "notes.txt"])
def test_a_folder_of_several_kinds_is_refused_in_one_line(path: Path, second_file: str) -> None:
    for name in ("a.jsonl", "readme.md", second_file):
        (path / name).touch()
    with pytest.raises(CorpusError, match=r"data: holds files of several kinds; give a \.jsonl, \.ndjson, ") as caught:
        corpus.resolve(str(path))
    assert str(caught.value).endswith(f"here lies a.jsonl beside {second_file}")


def test_the_odd_file_of_a_folder_is_passed_over_and_named(path: Path) -> None:
    (path / "a.jsonl").write_bytes(make_lines(FIRST) * 9)
    for name in ("notes.txt", "more.txt", "LICENSE.txt", "settings.json"):
        (path / name).write_text("A note.")
    assert corpus.load(corpus.resolve(str(path))).counts.skipped == {
        "LICENSE.txt (licence)": 1, ".json": 1, ".txt (more.txt)": 2,
    }  # fmt: skip
    (path / "page.md").write_text("The mill of Arden was built. " * 99)
    (path / "b.jsonl").write_bytes(b'{"x": 1}')
    with pytest.raises(CorpusError, match=r"here lies a\.jsonl and 1 more beside more\.txt and 2 more"):
        corpus.resolve(str(path))
    (path / "a.jsonl").unlink()
    counts = corpus.load(corpus.resolve(str(path))).counts
    assert (counts.kept, counts.skipped) == (
        2, {"LICENSE.txt (licence)": 1, ".jsonl (b.jsonl)": 1, ".json": 1},
    )  # fmt: skip
    assert in_words(counts.skipped) == (
        "1 .json file was left out: name the file, if it is an array of rows and no setting; "
        "1 .jsonl (b.jsonl) file was left out: rows of data are a corpus of their own; name the file; "
        "1 LICENSE.txt (licence) skipped"
    )


def test_the_limit_of_bytes_is_for_all_shards_together(path: Path) -> None:
    for name in ("a", "b"):
        (path / f"{name}.jsonl").write_bytes(make_lines(FIRST))
    small = corpus.resolve(str(path)).model_copy(update={"limits": ReadLimits(bytes=300)})
    with pytest.raises(CorpusError, match="data: more than 300 bytes"):
        corpus.load(small)


@pytest.mark.parametrize("name", ["a.jsonl", "a.jsonl.gz", "a.jsonl.zst", "a.parquet"])
def test_a_pipe_among_the_shards_is_one_line_and_no_wait(path: Path, name: str) -> None:
    os.mkfifo(path / name)
    with pytest.raises(CorpusError, match=f"{name}: cannot be read: it is a pipe or a device"):
        corpus.load(corpus.resolve(str(path)))
    (path / name).unlink()
    (path / name).symlink_to(path / name)
    with pytest.raises(CorpusError, match=rf"{name}: cannot be read.*[Tt]oo many levels of symbolic links"):
        corpus.load(corpus.resolve(str(path)))


def test_other_files_beside_the_shards_are_counted_as_skipped(path: Path) -> None:
    (path / "a.jsonl").write_bytes(make_lines(FIRST))
    (path / "README.md").touch()
    assert corpus.load(corpus.resolve(str(path))).counts.skipped == {".md": 1}
    assert corpus.load(corpus.resolve(str(path / "a.jsonl"))).counts.skipped == {}


ROW: dict[str, Any] = {"_id": "d1", "title": "Mill", "text": "The mill of Arden was built in 1702."}
QUESTION: dict[str, Any] = {"_id": "q1", "text": "When was the mill of Arden built?", "metadata": {}}


@pytest.mark.parametrize(
    ("corpus_name", "questions"),
    [
        ("corpus.jsonl", ["queries.jsonl", "train.jsonl"]),
        ("corpus.jsonl.gz", ["queries.jsonl.gz"]),
        ("corpus/corpus-00000-of-00001.jsonl", ["queries/queries-00000-of-00001.jsonl", "default/test.jsonl"]),
        ("de-corpus/test.jsonl", ["de-queries/test.jsonl", "de-qrels/test.jsonl"]),
        ("corpus-00000-of-00001.jsonl", ["queries-00000-of-00001.jsonl"]),
        ("collection.jsonl", ["queries.dev.jsonl"]),
        ("corpus.jsonl", ["claims_train.jsonl", "claims_dev.jsonl"]),
        ("corpus.jsonl", ["train.jsonl", "dev.jsonl"]),
        ("collection.jsonl", ["qas.search.jsonl"]),
        ("documents/biology.jsonl", ["examples/biology.jsonl"]),
    ],
)
def test_only_the_corpus_of_a_benchmark_is_read_and_the_report_says_so(
    corpus_name: str, questions: list[str], path: Path
) -> None:
    for name, row in ((corpus_name, ROW), *((name, QUESTION) for name in questions)):
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_bytes(make_lines([row]) if not name.endswith(".gz") else gzip.compress(make_lines([row])))
    (path / "qrels").mkdir(exist_ok=True)
    (path / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t1\n")
    loaded = corpus.load(corpus.resolve(str(path)))
    assert [document.id for document in loaded.documents] == ["d1"]
    top = {name.partition("/")[0] + "/" * ("/" in name) for name in (*questions, "qrels/")}
    beside = f"(part of a benchmark beside {corpus_name.partition('/')[0]})"
    assert loaded.counts.skipped == {f"{name} {beside}": 1 for name in top}
    assert f"1 qrels/ {beside}" in in_words(loaded.counts.skipped)


def test_splits_of_a_corpus_are_all_documents(path: Path) -> None:
    for number, name in enumerate(("corpus_train.jsonl", "corpus_test.jsonl", "more.jsonl")):
        (path / name).write_bytes(make_lines([{**ROW, "_id": f"d{number}", "text": f"Mill {number}. {ROW['text']}"}]))
    assert corpus.load(corpus.resolve(str(path))).counts.kept == 3


def test_notes_about_queries_and_a_corpus_are_all_read(path: Path) -> None:
    for name in ("corpus.md", "queries.md", "corpus/a.md", "queries/b.md", "other/c.md"):
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text(f"The mill of Arden is described in {name}.")
    assert corpus.load(corpus.resolve(str(path))).counts.kept == 5


def test_packages_caches_and_licences_of_a_checkout_are_skipped(path: Path) -> None:
    for name in (
        "docs/mill.md", "docs/License to mill.md", "README.md", "node_modules/left-pad/README.md",
        "web/node_modules/a/b.md", "env/pyvenv.cfg", "env/lib/site-packages/x/readme.md", "target/CACHEDIR.TAG",
        "target/doc.md", "vendor/modules.txt", "vendor/a/README.md", "LICENSE", "LICENSE-MIT.txt", "COPYING.md",
        "src/mill.egg-info/top_level.txt", "notes/vendor/prices.md",
    ):  # fmt: skip
        (path / name).parent.mkdir(parents=True, exist_ok=True)
        (path / name).write_text(f"The mill of Arden is described in {name}.")
    loaded = corpus.load(corpus.resolve(str(path)))
    assert [document.id for document in loaded.documents] == [
        "README.md", "docs/License to mill.md", "docs/mill.md", "notes/vendor/prices.md",
    ]  # fmt: skip
    packages = ("node_modules/", "env/", "mill.egg-info/", "target/", "vendor/")
    assert loaded.counts.skipped == {
        **{f"{name} (installed packages or a cache)": 1 + (name == "node_modules/") for name in packages},
        **{f"{name} (licence)": 1 for name in ("LICENSE", "LICENSE-MIT.txt", "COPYING.md")},
    }


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "zst": zstandard.compress,
    "xz": lzma.compress,
    "bz2": bz2.compress,
}


@pytest.mark.parametrize(
    "name", ["RS_2011-01.zst", "dump.gz", "dump", "part-00000", "a.jsonl.gz.zst", "a.jsonl.xz", "a.jsonl", "a.zst.bz2"]
)
def test_a_file_is_unpacked_by_what_it_holds_and_not_by_its_name(name: str, path: Path) -> None:
    data = make_lines(FIRST)
    for packing in {"dump": ["gz"], "a.jsonl": ["zst"], "a.jsonl.xz": ["gz"]}.get(name, name.split(".")[1:]):
        data = PACKERS[packing](data) if packing in PACKERS else data
    (path / name).write_bytes(data)
    (path / "Makefile").write_text("all:\n\techo {}\n")
    for source in (path, path / name):
        loaded = corpus.load(corpus.resolve(str(source)))
        assert [document.text for document in loaded.documents] == [row["text"] for row in FIRST]


def test_a_window_of_two_gigabytes_is_read(path: Path) -> None:
    window = zstandard.ZstdCompressionParameters(window_log=31, enable_ldm=True)
    stream = zstandard.ZstdCompressor(compression_params=window).compressobj()
    (path / "RC_2011-01.zst").write_bytes(stream.compress(make_lines(FIRST)) + stream.flush())
    assert corpus.load(corpus.resolve(str(path / "RC_2011-01.zst"))).counts.kept == len(FIRST)


def test_a_damaged_dump_is_called_damaged_and_not_unknown(path: Path) -> None:
    data = zstandard.compress(make_lines(FIRST))
    (path / "RS_2011-01.zst").write_bytes(data[: len(data) // 2])
    with pytest.raises(CorpusError, match="RS_2011-01.zst: cannot be read .* is it complete"):
        corpus.resolve(str(path / "RS_2011-01.zst"))


@pytest.mark.parametrize(
    "data", [b'{\n  "a": 1\n}', b"plain words", b"", gzip.compress(b"folder/a.txt\0\0\0", mtime=0)]
)
def test_a_file_that_holds_no_rows_has_no_reader(data: bytes, path: Path) -> None:
    for name in ("dump", "dump.gz"):
        (path / name).write_bytes(data)
        with pytest.raises(CorpusError, match=f"{name}: no reader for it"):
            corpus.resolve(str(path / name))
