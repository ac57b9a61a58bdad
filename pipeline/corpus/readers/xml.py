"""An XML file in JATS (articles of journals) or DocBook as one document. XML of other kinds is not read."""

import re
from functools import partial
from html.entities import html5
from pathlib import Path
from xml.etree import ElementTree as ET

from pipeline.corpus.document_blocks import Block, Parsed, describe_row, to_one_line
from pipeline.corpus.readers.base import Reader, read_in_parser_process
from pipeline.errors import CorpusError

_HEAD = 1 << 14
_DIALECT = re.compile(
    rb"<!DOCTYPE\s[^>\[]{1,300}(?:docbook|jats|//nlm//|journalpublishing|archivearticle)"
    rb"|docbook\.org/ns/docbook|<article\b[^>]{0,1000}\s(?:article-type|dtd-version)\s*=",
    re.IGNORECASE,
)
_SECTIONS = frozenset(
    "abstract app appendix article bibliography book body chapter colophon dedication front-stub glossary part preface "
    "refentry reference refsect1 refsect2 refsect3 refsection sec sect1 sect2 sect3 sect4 sect5 section simplesect "
    "sidebar trans-abstract".split()
)
_TITLES = frozenset("title article-title refname".split())
_CODE = frozenset("code literallayout preformat programlisting screen synopsis cmdsynopsis funcsynopsis".split())
_CELLS = frozenset("td th entry".split())
_DROPPED = frozenset(
    "ref-list bibliography index indexterm journal-meta contrib-group contrib aff author-notes permissions history "
    "pub-date article-id article-categories counts kwd-group custom-meta-group funding-group self-uri volume issue "
    "fpage lpage elocation-id tex-math mml:math math inlineequation equation disp-formula object-id related-article "
    "titleabbrev remark authorgroup author editor copyright legalnotice revhistory releaseinfo pubdate date edition "
    "mediaobject imageobject graphic inline-graphic media label refmeta refclass keywordset subjectset".split()
)
_LINES = frozenset(
    "p para simpara formalpara title subtitle article-title alt-title term refname refpurpose caption attrib "
    "disp-quote verse-line table tgroup row tr list list-item listitem varlistentry itemizedlist orderedlist "
    "variablelist step glossentry glossterm glossdef def def-item".split()
)
"""Elements that begin and end a line, besides sections and code."""


def is_article(path: Path) -> bool:
    """Return whether a file is in one of the dialects, by its beginning."""
    try:
        if not path.is_file():  # opening a pipe would wait for ever
            return False
        with path.open("rb") as stream:
            return bool(_DIALECT.search(stream.read(_HEAD)))
    except OSError:
        return False


def parse(data: bytes) -> Parsed:
    if not _DIALECT.search(data[:_HEAD]):
        raise CorpusError("neither JATS nor DocBook; write a JSON object a line for each of its records")
    parser = ET.XMLParser()  # noqa: S314
    parser.entity.update({name.rstrip(";"): text for name, text in html5.items()})
    walker = _Walker()
    walker.walk(ET.fromstring(data, parser), 0)  # noqa: S314
    walker.end_line("p")
    return Parsed("", walker.blocks)


class _Walker:
    def __init__(self) -> None:
        self.blocks = list[Block]()
        self._text = ""

    def walk(self, element: ET.Element, depth: int) -> None:
        """Add the text of an element. `depth` is the number of sections around it."""
        name = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
        if not name or name in _DROPPED or element.get("ref-type") == "bibr":
            return
        if name in _CODE:
            self._add_code(name, element)
        elif name in {"table", "informaltable"} or (name == "tgroup"):
            self._add_table(element, depth)
        elif name in _SECTIONS or name in _LINES:
            self.end_line("p")
            self._walk_inside(element, depth + (name in _SECTIONS))
            self.end_line(f"h{min(6, max(1, depth))}" if name in _TITLES else "p")
        else:
            self._walk_inside(element, depth)

    def _walk_inside(self, element: ET.Element, depth: int) -> None:
        self._text += element.text or ""
        for child in element:
            self.walk(child, depth)
            self._text += child.tail or ""

    def end_line(self, kind: str) -> None:
        if text := to_one_line(self._text):
            self.blocks.append(Block(kind, text))
        self._text = ""

    def _add_code(self, name: str, element: ET.Element) -> None:
        text = "".join(element.itertext()).strip("\n").rstrip()
        if name == "code" and "\n" not in text:
            self._text += text
        else:
            self.end_line("p")
            self.blocks.append(Block("code", text))

    def _add_table(self, table: ET.Element, depth: int) -> None:
        self.end_line("p")
        for title in table.findall("{*}title"):
            self.walk(title, 6)
        head = _cells(table.find(".//{*}thead"))[:1]
        rows = [cells for body in table.iterfind(".//{*}tbody") for cells in _cells(body)] or _cells(table)[len(head) :]
        lines = [describe_row(head[0] if head else [], cells) for cells in rows if any(cells)]
        self.blocks.append(Block("table", "\n".join(lines)))


def _cells(part: ET.Element | None) -> list[list[str]]:
    """Return the texts of the cells of each row."""
    rows = [] if part is None else [row for row in part.iter() if _name(row) in {"tr", "row"}]
    return [[to_one_line("".join(cell.itertext())) for cell in row if _name(cell) in _CELLS] for row in rows]


def _name(element: ET.Element) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


READER = Reader(
    read=partial(read_in_parser_process, "xml"),
    suffixes=(".xml", ".nxml", ".jats", ".dbk", ".docbook"),
    kind="JATS or DocBook",
    parse=parse,
    accepts=is_article,
)
