"""Folders of text files as rows."""

import os
import resource
from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus.readers import base, folder
from pipeline.corpus.readers.base import ReadLimits
from pipeline.corpus.unreadable_files import in_words
from pipeline.errors import CorpusError
from pipeline.links.opening import open_links


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
        "deep/er/river.MD": ("The River", "It is long.\n\nC"),
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
    with pytest.raises(CorpusError, match="empty: nothing in it that can be read$"):
        corpus.load(corpus.resolve(str(empty)))


def test_a_folder_of_unread_files_names_them_instead_of_being_called_empty(tmp_path: Path) -> None:
    (tmp_path / "0.csv").touch()
    with pytest.raises(CorpusError, match=r"nothing in it that can be read \(1 \.csv file was left out: a table is"):
        list(folder.read(tmp_path, ReadLimits()))


def test_a_loop_of_links_and_a_pipe_are_bad_rows(path: Path) -> None:
    (path / "z1.txt").symlink_to(path / "z2.txt")
    (path / "z2.txt").symlink_to(path / "z1.txt")
    (path / "z4.txt").symlink_to(path / "nowhere.txt")
    os.mkfifo(path / "z3.txt")
    bad = [row for row in folder.read(path, ReadLimits()) if row.error]
    assert [row.place for row in bad] == ["z1.txt", "z2.txt", "z3.txt", "z4.txt"]
    assert {row.error.partition(":")[0] for row in bad} == {"no file that can be read"}
    with pytest.raises(CorpusError, match=r"4 of 7 rows are not documents: z1\.txt"):
        corpus.load(corpus.resolve(str(path)))


def test_files_that_are_not_read_are_counted_and_named_with_what_would_convert_them(path: Path) -> None:
    for name in ("a.odt", "deep/b.ODT", "c.csv", "Makefile", "d.doc", "e.mp3", "f.mp3"):
        (path / name).touch()
    assert in_words(corpus.load(corpus.resolve(str(path))).counts.skipped) == (
        "2 .odt files were left out: convert them to Markdown with pandoc; 1 .csv file was left out: a table is a "
        "corpus of its own; name the file; 1 .doc file was left out: convert them with LibreOffice; "
        "2 .mp3, 1 .png, 1 without an ending skipped"
    )
    assert in_words({}) == ""


def test_hidden_files_and_those_of_an_open_office_document_are_ignored(path: Path) -> None:
    for name in (".git/config", ".obsidian/notes.md", "deep/.hidden.txt", ".DS_Store", "~$Plan.docx"):
        (path / name).parent.mkdir(exist_ok=True)
        (path / name).write_text("It is hidden here.")
    counts = corpus.load(corpus.resolve(str(path))).counts
    assert (counts.kept, counts.skipped) == (3, {".png": 1})


def test_a_text_that_is_too_long_is_a_bad_row_and_is_not_read_whole(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "LONGEST", 100)
    (path / "z.txt").write_text("word " * 100)
    *_, last = folder.read(path, ReadLimits())
    assert (last.place, last.error) == ("z.txt", "longer than 0 MiB")


def test_a_document_of_50_megabytes_is_counted_in_bounded_memory(tmp_path: Path) -> None:
    for n in range(120):
        (tmp_path / f"{n}.md").write_text(f"# Mill {n}\n\nThe mill of Arden was number {n}.\n")
    (tmp_path / "z.md").write_text("The mill of Arden was built. " * 1_800_000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    loaded = corpus.load(corpus.resolve(str(tmp_path)))
    assert loaded.offenders == ("z.md: longer than 32 MiB",)
    assert (loaded.counts.kept, loaded.counts.bad) == (120, 1)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 << 10


def test_a_name_that_is_no_utf_8_is_a_bad_row(path: Path) -> None:
    for n in range(150):
        (path / f"mill{n}.txt").write_text(f"The mill of Arden was number {n}.")
    for name in (b"\xff\xfe.txt", b"a.\xff"):
        (path / os.fsdecode(name)).write_text("The mill of Arden.")
    loaded = corpus.load(corpus.resolve(str(path)))
    assert loaded.offenders == (r"\xff\xfe.txt: its name is not UTF-8; rename it",)
    assert loaded.counts.skipped == {".png": 1, r".\xff": 1}


def test_a_shard_whose_name_is_no_utf_8_is_read(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"\xff.jsonl")).write_text('{"text": "The mill of Arden."}')
    assert [d.id for d in corpus.load(corpus.resolve(str(tmp_path))).documents] == [r"\xff.jsonl:1"]


def test_links_of_pages_lead_to_files_beside_them(tmp_path: Path) -> None:
    pytest.importorskip("trafilatura")
    sentence = "The wheel was cut by a man whom the people of this valley called"
    pages = {
        "a/mill.md": f"# The mill\n\n{sentence} [the old carpenter](../b/otto.html#life) for all of his days.",
        "a/bridge.html": f"<article><h1>Bridge</h1><p>{sentence.replace('wheel', 'railing')} "
        "<a href='../b/otto.html'>the old carpenter</a> until he died in the year of the flood.</p></article>",
        "b/otto.html": "<article><h1>Heinrich Otto</h1><p>He came from the north and built what this valley needed, "
        "and he was at work until the flood.</p></article>",
    }
    for name, text in pages.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    loaded = corpus.load(corpus.resolve(str(tmp_path)), tmp_path / "out")
    assert [document.links for document in loaded.documents] == [
        "../b/otto.html\tthe old carpenter", "../b/otto.html#life\tthe old carpenter", "",
    ]  # fmt: skip
    links = open_links(loaded, 20)
    number = next(number for number in range(len(links)) if links.text(number) == "the old carpenter")
    assert {links.passage(mention.place).document_id for mention in links.mentions(number)} == set(pages)
