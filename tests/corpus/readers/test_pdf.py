"""PDF files: their text in paragraphs, without running heads; what cannot be read is counted and named."""

from pathlib import Path

import pytest

from pipeline import corpus
from pipeline.corpus import parser_process
from pipeline.corpus.readers import base, folder, pdf
from pipeline.corpus.readers.base import ReadLimits, Row
from tests.corpus.readers.made_documents import HELVETICA, write_pdf

pytest.importorskip("liteparse", reason="pip install 'digsite[pdf]'")
MILL = (
    "The mill of Arden",
    "It was built in 1702 by Heinrich Otto, who had come from",
    "the north, and it ground corn for nine villages.",
)
WEIR = ("The weir", "The weir below it is of oak and was renewed in 1810 by the", "monks of the abbey at Werra.")
CODES = b"""/CIDInit /ProcSet findresource begin 12 dict begin begincmap 1 begincodespacerange <00> <ff>
endcodespacerange 1 beginbfrange <20> <7e> <0028> endbfrange endcmap end end"""


def read(path: Path) -> Row:
    (row,) = pdf.READER.read(path, ReadLimits())
    return row


def write_garbled(path: Path, pages: list[tuple[str, ...]]) -> Path:
    """Write a file whose font shows one character and states another, as badly made files do."""
    codes = b"<< /Length %d >>\nstream\n%s\nendstream" % (len(CODES), CODES)
    return write_pdf(path, pages, HELVETICA + b" /ToUnicode 4 0 R", codes)


def test_lines_become_paragraphs_and_the_first_heading_the_title(tmp_path: Path) -> None:
    row = read(write_pdf(tmp_path / "mill.pdf", [MILL, WEIR]))
    assert (row.values["title"], row.kind, row.error) == ("The mill of Arden", "PDF", "")
    assert row.values["text"] == (
        "It was built in 1702 by Heinrich Otto, who had come from the north, and it ground corn for nine villages.\n\n"
        "The weir\n\nThe weir below it is of oak and was renewed in 1810 by the monks of the abbey at Werra."
    )


def test_running_heads_and_page_numbers_stay_out(tmp_path: Path) -> None:
    builders = ("Otto", "Anna Ferrier", "the monks", "a carpenter", "Gustav Tarn", "nobody known")
    pages = []
    for number, builder in enumerate(builders, 1):
        lines = [f"Line {line} of what {builder} wrote about {builder[::-1]}," for line in "abcdef"]
        end = f"and so the mill of {builder} was shut in 18{number}2."
        pages.append((f"{number + 2} Chapter 6. Mills", *lines, end, f"{number}"))
    text = read(write_pdf(tmp_path / "mills.pdf", pages)).values["text"]
    assert "Chapter 6" not in text
    assert [number for number in range(1, 7) if f"shut in 18{number}2." in text] == [*range(1, 7)]
    assert not any(block.isdigit() for block in text.split("\n\n"))


def test_pages_that_repeat_each_other_are_not_taken_for_running_heads(tmp_path: Path) -> None:
    pages = [
        ("A letter", "Dear Sir, the mill of Arden is to be shut by the abbey this year.", f"No {n}") for n in "abcd"
    ]
    text = read(write_pdf(tmp_path / "letters.pdf", pages)).values["text"]
    assert text.count("the mill of Arden is to be shut") == 4


def test_a_paragraph_that_goes_on_over_a_page_stays_one(tmp_path: Path) -> None:
    first = ("The mill", "It was built in 1702 by a man whom the people of this valley")
    second = ("called the old carpenter until the flood of that year.",)
    text = read(write_pdf(tmp_path / "mill.pdf", [first, ("", *second)])).values["text"]
    assert "this valley called the old carpenter until" in text


def test_pages_without_text_are_counted_and_named(tmp_path: Path) -> None:
    write_pdf(tmp_path / "mill.pdf", [MILL, (), WEIR, ()])
    write_pdf(tmp_path / "scan.pdf", [()])
    loaded = corpus.load(corpus.resolve(str(tmp_path)))
    assert loaded.counts.noted == [f"3 {pdf.EMPTY}: mill.pdf (2), scan.pdf (1)"]
    assert (loaded.counts.kept, loaded.counts.empty, loaded.counts.bad) == (1, 1, 0)


def test_garbled_pages_are_refused(tmp_path: Path) -> None:
    row = read(write_garbled(tmp_path / "mill.pdf", [MILL]))
    assert row.error.startswith("its fonts do not name their characters")


@pytest.mark.parametrize("content", [b"", b"x" * 100, b"%PDF-1.4\n" + b"x" * 500, b"PK\3\4 no PDF"])
def test_a_broken_file_is_a_bad_row_among_others(content: bytes, tmp_path: Path) -> None:
    write_pdf(tmp_path / "mill.pdf", [MILL])
    write_pdf(tmp_path / "weir.pdf", [WEIR])
    (tmp_path / "broken.pdf").write_bytes(content)
    loaded = corpus.load(corpus.resolve(str(tmp_path)))
    assert (loaded.counts.kept, loaded.counts.bad) == (2, 1)
    assert loaded.offenders[0].startswith("broken.pdf: not a")


@pytest.mark.slow
def test_a_file_that_takes_too_much_memory_costs_one_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_pdf(tmp_path / "bomb.pdf", [["mill"] * 500_000])
    write_pdf(tmp_path / "mill.pdf", [MILL])
    write_pdf(tmp_path / "weir.pdf", [WEIR])
    monkeypatch.setattr(parser_process, "MEMORY", 256 << 20)
    loaded = corpus.load(corpus.resolve(str(tmp_path)))
    assert [document.id for document in loaded.documents] == ["mill.pdf", "weir.pdf"]
    assert loaded.offenders[0].startswith("bomb.pdf: its parser crashed, or took too much time or memory")


def test_the_fingerprint_is_the_same_twice_and_covers_the_version_of_the_parser(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pdf(tmp_path / "mill.pdf", [MILL])
    first, second = (corpus.load(corpus.resolve(str(tmp_path))).fingerprint for _ in range(2))
    assert first == second
    monkeypatch.setattr(base, "version", lambda _: "9.9")
    assert corpus.load(corpus.resolve(str(tmp_path))).fingerprint != first


def test_without_the_extra_one_line_says_how_many_files_were_left_out_and_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pdf(tmp_path / "mill.pdf", [MILL])
    write_pdf(tmp_path / "weir.pdf", [WEIR])
    (tmp_path / "note.txt").write_text("The mill of Arden was built in 1702.")
    by_ending = {ending: name for ending, name in folder._BY_ENDING.items() if name != "pdf"}
    monkeypatch.setattr(folder, "_BY_ENDING", by_ending)
    loaded = corpus.load(corpus.resolve(str(tmp_path)))
    from pipeline.corpus.unreadable_files import describe_unread

    assert describe_unread(loaded.counts.skipped) == ["2 PDF files were left out: pip install 'digsite[pdf]'"]
    assert loaded.counts.kept == 1
