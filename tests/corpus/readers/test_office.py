"""DOCX, PPTX, EPUB, RST, notebooks, JATS and DocBook: their words in order, and bounds for hostile files."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline import corpus
from pipeline.corpus import parser_process
from pipeline.corpus.parser_process import ParserProcess
from pipeline.corpus.readers.base import NAMED_BY_FILE, ReadLimits, Row, load_reader
from tests.corpus.readers.made_documents import (
    docx_files,
    paragraph,
    write_docx,
    write_epub,
    write_pptx,
    zipped,
)

TABLE = "<w:tbl>{}</w:tbl>"


def read(path: Path, reader: str = "", limits: ReadLimits | None = None) -> list[Row]:
    plugin = load_reader(reader or path.suffix[1:])
    if not plugin.is_installed:
        pytest.skip("pip install 'digsite[office]'")
    return list(plugin.read(path, limits or ReadLimits()))


def read_one(path: Path, text: str | bytes = b"", reader: str = "") -> tuple[str, str]:
    if text:
        path.write_bytes(text.encode() if isinstance(text, str) else text)
    (row,) = read(path, reader)
    assert not row.error
    return row.values["title"], row.values["text"]


def table_row(*cells: str) -> str:
    return f"<w:tr>{''.join(f'<w:tc>{paragraph(cell)}</w:tc>' for cell in cells)}</w:tr>"


def test_a_word_file_keeps_headings_paragraphs_and_tables(tmp_path: Path) -> None:
    body = [
        paragraph("The mill of Arden", "Title"), paragraph("Owners", "Heading1"), paragraph("Otto & his son had it."),
        TABLE.format(table_row("1702", "Otto") + table_row("1810", "the abbey")),
    ]  # fmt: skip
    path = write_docx(tmp_path / "mill.docx", "".join(body))
    assert read_one(path) == ("The mill of Arden", "Owners\n\nOtto & his son had it.\n\n1702; Otto.\n1810; the abbey.")


def test_slides_keep_their_titles_texts_and_notes(tmp_path: Path) -> None:
    slides = [("The mill", ["Built in 1702", "By Otto"], "Say that it burnt."), ("The weir", ["Of oak"], "")]
    path = write_pptx(tmp_path / "mill.pptx", slides)
    assert read_one(path) == ("The mill", "Built in 1702\n\nBy Otto\n\nSay that it burnt.\n\nThe weir\n\nOf oak")


def test_the_chapters_of_a_book_are_read_in_its_order_without_the_contents(tmp_path: Path) -> None:
    chapters = {
        "z.xhtml": "<h1>The mill</h1><p>It was<br/>built&nbsp;in 1702.</p>",
        "a.xhtml": "<h1>Weir</h1><p>Oak.</p>",
    }
    path = write_epub(tmp_path / "book.epub", "Arden", chapters)
    assert read_one(path) == ("Arden", "The mill\n\nIt was built in 1702.\n\nWeir\n\nOak.")


def test_a_book_that_is_longer_than_a_document_may_be_is_split_at_its_chapters(tmp_path: Path) -> None:
    chapters = {f"{n}.xhtml": f"<h1>Mill {n}</h1><p>{f'The mill {n} of Arden. ' * 10}</p>" for n in range(3)}
    path = write_epub(tmp_path / "book.epub", "Arden", chapters)
    rows = read(path, limits=ReadLimits(doc_chars=500))
    assert [(row.key, row.values["title"]) for row in rows] == [
        (f"book.epub:{n + 1}", f"Arden: Mill {n}") for n in range(3)
    ]
    loaded = corpus.load(corpus.resolve(str(path)).model_copy(update={"limits": ReadLimits(doc_chars=500)}))
    assert (loaded.counts.kept, loaded.counts.oversized, loaded.counts.kinds) == (3, 0, {"EPUB": 1})


RST = """
:orphan:

The mill
========

.. toctree::

   other

It was built by :ref:`Heinrich Otto <otto>` in *1702*, see :pep:`8` and :py:func:`~grind.corn`.

.. versionadded:: 1702
   The wheel of oak.

.. custom-box:: About the weir
   :class: wide

   It is of *oak*.

.. include:: /etc/passwd

.. raw:: html

   <p>raw words</p>

.. code-block:: sh

   mill --grind

==== =====
Year Owner
==== =====
1702 Otto
==== =====
"""


def test_restructured_text_keeps_words_and_leaves_out_what_it_includes(tmp_path: Path) -> None:
    title, text = read_one(tmp_path / "mill.rst", RST)
    assert title == "The mill"
    assert text.split("\n\n") == [
        "It was built by Heinrich Otto in 1702, see PEP 8 and grind.corn.", "1702 The wheel of oak.",
        "About the weir", "It is of oak.", "mill --grind", "Year: 1702; Owner: Otto.",
    ]  # fmt: skip


def test_a_notebook_keeps_texts_and_code_without_outputs(tmp_path: Path) -> None:
    cells: list[dict[str, Any]] = [
        {"cell_type": "markdown", "source": ["# The mill\n", "\n", "Built in *1702*."]},
        {"cell_type": "code", "source": "grind(corn)", "outputs": [{"text": "a secret output"}]},
        {"cell_type": "raw", "source": "raw"},
    ]
    assert read_one(tmp_path / "mill.ipynb", orjson.dumps({"cells": cells, "nbformat": 4})) == (
        "The mill", "Built in 1702.\n\ngrind(corn)",
    )  # fmt: skip


JATS = """<?xml version="1.0"?>
<!DOCTYPE article PUBLIC "-//NLM//DTD JATS (Z39.96) Journal Publishing DTD v1.1//EN" "JATS.dtd">
<article><front><journal-meta><journal-id>xyz</journal-id></journal-meta><article-meta>
<title-group><article-title>Mills of <italic>Arden</italic></article-title></title-group>
<abstract><p>We count mills&nbsp;here.</p></abstract></article-meta></front>
<body><sec><title>Methods</title><p>Nine mills <xref ref-type="bibr" rid="b1">[1]</xref>were seen.</p>
<table-wrap><table><thead><tr><th>Year</th><th>Mills</th></tr></thead><tbody><tr><td>1702</td><td>9</td></tr></tbody>
</table></table-wrap></sec></body><back><ref-list><ref>Otto 1702</ref></ref-list></back></article>"""
DOCBOOK = """<book xmlns="http://docbook.org/ns/docbook"><info><title>Arden</title><author>Otto</author></info>
<chapter><title>The mill</title><para>It grinds <emphasis>corn</emphasis><indexterm><primary>corn</primary></indexterm>.
</para><programlisting>mill
  --grind</programlisting></chapter></book>"""


def test_articles_in_jats_and_books_in_docbook_are_read(tmp_path: Path) -> None:
    assert read_one(tmp_path / "a.xml", JATS) == (
        "Mills of Arden", "We count mills here.\n\nMethods\n\nNine mills were seen.\n\nYear: 1702; Mills: 9.",
    )  # fmt: skip
    assert read_one(tmp_path / "b.xml", DOCBOOK) == ("Arden", "The mill\n\nIt grinds corn.\n\nmill\n  --grind")


def test_xml_of_another_kind_is_no_document_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text(JATS)
    (tmp_path / "pom.xml").write_text("<project><version>1</version></project>")
    counts = corpus.load(corpus.resolve(str(tmp_path))).counts
    assert (counts.kept, counts.bad, counts.skipped) == (1, 0, {".xml": 1})


def test_a_folder_of_all_kinds_says_what_was_read_of_each(tmp_path: Path) -> None:
    write_docx(tmp_path / "a.docx", paragraph("The mill of Arden was built in 1702."))
    write_pptx(tmp_path / "a.pptx", [("Mill", ["It was built in 1703."], "")])
    write_epub(tmp_path / "a.epub", "Arden", {"a.xhtml": "<p>It was built in 1704.</p>"})
    notebook = '{"cells": [{"cell_type": "code", "source": "1708"}]}'
    texts = {"a.rst": "In 1705.", "a.md": "In 1706.", "b.md": "In 1707.", "a.xml": JATS, "a.ipynb": notebook}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "broken.docx").write_text("x" * 100)
    loaded = corpus.load(corpus.resolve(str(tmp_path)))
    assert loaded.counts.read_by_kind == "2 Markdown, 1 DOCX, 1 EPUB, 1 JATS or DocBook, 1 PPTX, 1 RST, 1 notebook"
    assert loaded.offenders == ("broken.docx: not a ZIP archive",)
    assert loaded.counts.notes == {NAMED_BY_FILE: 5}
    assert loaded.fingerprint == corpus.load(corpus.resolve(str(tmp_path))).fingerprint


ENTITIES = "".join(f'<!ENTITY e{n} "{f"&e{n - 1};" * 10 if n else "mill "}">' for n in range(10))
BOMB = f"<!DOCTYPE article [{ENTITIES}]><article article-type='a'><front/><body><p>&e9;</p></body></article>"
HOSTILE: dict[str, Callable[[], bytes]] = {
    "entities.xml": BOMB.encode,
    "file.xml": lambda: (
        b"<!DOCTYPE article [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><article article-type='a'><p>&e;</p></article>"
    ),
    "deep.xml": lambda: b"<article article-type='a'>" + b"<sec>" * 100_000 + b"</sec>" * 100_000 + b"</article>",
    "zeros.docx": lambda: zipped({"word/document.xml": b"0" * (80 << 20)}),
    "entries.epub": lambda: zipped({f"{n}.xhtml": "" for n in range(20_001)}),
    "entities.docx": lambda: zipped(docx_files("") | {"word/document.xml": BOMB.replace("article", "w:document")}),
    "deep.rst": lambda: "".join(f"{'  ' * n}- x\n\n" for n in range(2000)).encode(),
    "deep.ipynb": lambda: b'{"cells": ' + b"[" * 100_000,
    "list.ipynb": lambda: b"[1, 2]",
    "encrypted.docx": lambda: b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 100,
}
"""Made only when they are read, since some are large."""


@pytest.mark.slow
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_a_bad_row(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(HOSTILE[name]())
    (row,) = read(tmp_path / name)
    assert row.error
    assert not row.values
    assert "root:" not in str(row)


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "most"), [("SECONDS", 1), ("MEMORY", 256 << 20)])
def test_a_parser_that_takes_too_much_time_or_memory_costs_one_file(
    setting: str, most: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = paragraph("The mill of Arden was built in 1702.")
    good = write_docx(tmp_path / "mill.docx", body)
    slow = write_docx(tmp_path / "slow.docx", body * 300_000)
    pytest.importorskip("mammoth", reason="pip install 'digsite[office]'")
    monkeypatch.setattr(parser_process, setting, most)
    with ParserProcess() as parser:
        errors = [row.error for path in (good, slow, good) for row in parser.rows("docx", path, ReadLimits())]
    assert [bool(error) for error in errors] == [False, True, False]
    assert re.search("too much time or memory", errors[1])
