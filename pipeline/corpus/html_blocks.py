"""Convert HTML that holds nothing but a document (a chapter of an EPUB, a converted DOCX or RST) to blocks.

All of its text is kept. `readers/html.py` looks for the main text of a page instead, and would drop paragraphs here.
"""

import re
from html.parser import HTMLParser
from typing import NamedTuple

from pipeline.corpus.document_blocks import Block, Parsed, describe_row, to_one_line

_BLOCKS = frozenset(
    "address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure footer form "
    "h1 h2 h3 h4 h5 h6 header hr html legend li main ol p pre section summary table tbody tfoot thead ul".split()
)
"""Elements that begin and end a block of text."""
_DROPPED = frozenset("script style template svg math nav head iframe object select textarea".split())
_CELLS = frozenset(("td", "th"))
_HEADING = re.compile("h[1-6]")
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())


class _Row(NamedTuple):
    cells: list[str]
    tags: list[str]
    """`td` or `th` for each cell."""


def parse_html(source: str) -> Parsed:
    """Return the blocks, the links and the content of `title`."""
    parser = _Parser()
    parser.feed(source)
    parser.close()
    return Parsed(" ".join(parser.title.split()), parser.blocks, parser.links)


class _Parser(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.title = ""
        self.blocks = list[Block]()
        self.links = list[str]()
        self._text, self._kind = "", "p"
        self._dropped: list[str] = []
        """The open elements whose text is left out."""
        self._in_title, self._pre = False, 0
        self._tables, self._rows = 0, list[_Row]()
        """The number of open tables, and the rows of the outermost. An inner table is text of the cell around it."""
        self._href, self._anchor = "", ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._in_title = tag == "title" and not self.title
        if self._dropped or tag in _DROPPED:
            self._dropped += [tag] if tag not in _VOID else []
        elif tag == "br":
            self._text += "\n"
        elif tag == "a":
            self._href, self._anchor = dict(attrs).get("href") or "", ""
        elif tag in _CELLS or tag == "tr":
            self._open_cell(tag)
        elif tag in _BLOCKS:
            self._end_block()
            self._kind = tag if _HEADING.fullmatch(tag) else "p"
            self._pre += tag == "pre"
            self._tables += tag == "table"

    def handle_endtag(self, tag: str) -> None:
        self._in_title = False
        if tag in self._dropped:
            # An element may lack its end.
            del self._dropped[len(self._dropped) - 1 - self._dropped[::-1].index(tag) :]
        elif self._dropped:
            return
        elif tag == "a" and self._href:
            if words := " ".join(self._anchor.split()):
                self.links.append(f"{self._href}\t{words}")
            self._href = ""
        elif tag in _BLOCKS:
            self._end_block()
            self._pre -= tag == "pre" and self._pre > 0
            if tag == "table" and self._tables:
                self._tables -= 1
                self._end_table()

    def handle_data(self, data: str) -> None:
        if self._in_title:
            self.title += data
        if not self._dropped:
            self._text += data
            self._anchor += data if self._href else ""

    def close(self) -> None:
        super().close()
        self._end_block()
        self._tables = 0
        self._end_table()

    def _end_block(self) -> None:
        if self._rows:
            cells = self._rows[-1].cells
            cells[-1:] = [" ".join(f"{''.join(cells[-1:])} {self._text}".split())]
        elif text := self._text.strip("\n").rstrip() if self._pre else to_one_line(self._text):
            self.blocks.append(Block("code" if self._pre else self._kind, text))
        self._text, self._kind = "", "p"

    def _open_cell(self, tag: str) -> None:
        self._end_block()
        if self._tables == 1 and (tag == "tr" or not self._rows):
            self._rows.append(_Row([], []))
        if self._tables == 1 and tag != "tr":
            self._rows[-1].cells.append("")
            self._rows[-1].tags.append(tag)

    def _end_table(self) -> None:
        if self._tables or not self._rows:
            return
        rows, self._rows = [row for row in self._rows if any(row.cells)], []
        head = rows.pop(0).cells if len(rows) > 1 and set(rows[0].tags) == {"th"} else []
        self.blocks.append(Block("table", "\n".join(describe_row(head, row.cells) for row in rows)))
