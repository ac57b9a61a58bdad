"""Folders of text files as rows."""

import os
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus.readers import folder
from pipeline.corpus.readers.base import ReadLimits, skipped_in_words
from pipeline.errors import CorpusError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "notes"
    (path / "deep" / "er").mkdir(parents=True)
    (path / "old_mill.txt").write_text("The mill was built in 1702.")
    (path / "deep" / "er" / "river.MD").write_text("\n# The River ##\n\nIt is long.\n## Course\nSouth.")
    (path / "deep" / "plain.md").write_text("No heading here.")
    (path / "picture.png").write_bytes(b"\x89PNG")
    return path


def test_text_and_markdown_files_at_any_depth_are_documents(path: Path) -> None:
    rows = {row.key: row.values for row in folder.read(path, ReadLimits())}
    assert {key: (row["title"], row["text"][:14].strip()) for key, row in rows.items()} == {
        "deep/er/river.MD": ("The River", "It is long.\n#"),
        "deep/plain.md": ("plain", "No heading her"),
        "old_mill.txt": ("old mill", "The mill was b"),
    }


def test_the_order_is_the_names_order_and_the_corpus_loads(path: Path) -> None:
    loaded = corpus.load(corpus.resolve(str(path), text_field="not_asked_of_folders"))
    assert [d.id for d in loaded.documents] == ["deep/er/river.MD", "deep/plain.md", "old_mill.txt"]
    assert loaded.manifest.name == "notes"


def test_junk_among_the_files_is_a_bad_row(path: Path) -> None:
    (path / "z.txt").write_bytes(b"\xff\xfe\x00junk")
    *_, last = folder.read(path, ReadLimits())
    assert (last.place, last.values) == ("z.txt", {})
    assert last.error.startswith("not a readable UTF-8 text")


def test_a_link_out_of_the_folder_is_not_followed(path: Path, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("It is out there.")
    (path / "z.txt").symlink_to(secret)
    (path / "y").symlink_to(tmp_path)
    *rows, last = folder.read(path, ReadLimits())
    assert last.error == "a link that leads out of the folder"
    assert [row.key for row in rows] == ["deep/er/river.MD", "deep/plain.md", "old_mill.txt"]


def test_a_folder_beyond_the_limit_or_without_texts_is_refused(path: Path, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match="more than 20 bytes"):
        list(folder.read(path, ReadLimits(bytes=20)))
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(CorpusError, match="contains no .txt"):
        corpus.load(corpus.resolve(str(empty)))


def test_a_folder_of_other_files_is_not_called_empty_without_saying_of_what(tmp_path: Path) -> None:
    (tmp_path / "0.csv").touch()
    with pytest.raises(CorpusError, match=r"contains no \.txt, .* or \.parquet files \(1 skipped: 1 \.csv\)"):
        list(folder.read(tmp_path, ReadLimits()))


def test_a_loop_of_links_and_a_pipe_are_bad_rows(path: Path) -> None:
    (path / "z1.txt").symlink_to(path / "z2.txt")
    (path / "z2.txt").symlink_to(path / "z1.txt")
    os.mkfifo(path / "z3.txt")
    bad = [row for row in folder.read(path, ReadLimits()) if row.error]
    assert [row.place for row in bad] == ["z1.txt", "z2.txt", "z3.txt"]
    assert {row.error.partition(":")[0] for row in bad} == {"no file that can be read"}
    with pytest.raises(CorpusError, match=r"3 of 6 rows are not documents: z1\.txt"):
        corpus.load(corpus.resolve(str(path)))


def test_files_that_are_not_read_are_counted_and_named(path: Path) -> None:
    for name in ("a.pdf", "deep/b.PDF", "c.csv", "Makefile"):
        (path / name).touch()
    counts = corpus.load(corpus.resolve(str(path))).counts
    assert skipped_in_words(counts.skipped) == "5 skipped: 2 .pdf, 1 .csv, 1 .png, 1 without an ending"
    assert skipped_in_words({}) == ""
