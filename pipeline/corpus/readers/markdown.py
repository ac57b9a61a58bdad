"""A Markdown or MDX file: one document, block by block, without its marks and those of generators of sites.

The title is the front matter's, else the first heading's where that is of the first level or opens the text, else the
file's name. Of front matter nothing enters the text. A paragraph is one line however it was wrapped, since lines that
end in mid-sentence read as a list; a row of a table is a sentence (`Built: 1702; Owner: the abbey.`); of links and
pictures their words stay. Code stays as it is.
"""

import html
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.corpus import front_matter, shortcodes
from pipeline.corpus.readers.base import ReadLimits, Row, document_row
from pipeline.text import HAN

if TYPE_CHECKING:
    from markdown_it.token import Token

SUFFIXES: tuple[str, ...] = (".md", ".markdown", ".mdx")
_TAG = re.compile(r"<!--.*?(?:-->|\Z)|</?[A-Za-z][^<>]*>", re.DOTALL)
_WRAPPED_HAN = re.compile(rf"(?<=[{HAN}、。，])\n(?=[{HAN}])")
_WRAPPED = re.compile(r"(?<![ \t\r])[ \t\r]*+\n\s*+")
_STOPS = (".", "!", "?", ":", "。", "！", "？")


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    parsed = partial(_document, mdx=path.suffix.lower() == ".mdx")
    yield document_row(path, limits, parsed, longest=limits.doc_chars)


def _document(source: str, *, mdx: bool) -> tuple[str, str, list[str]]:
    title, page = front_matter.taken(source)
    heading, text, links = parsed(shortcodes.removed(page, mdx=mdx))
    if title and heading and title != heading:
        text = f"{heading}\n\n{text}"
    return title or heading, text, links


def parsed(source: str) -> tuple[str, str, list[str]]:
    """The heading that names the document, or nothing, all else, and its links."""
    from markdown_it import MarkdownIt

    heading, blocks = "", list[str]()
    tokens = MarkdownIt("commonmark").enable("table").parse(source)
    for kind, text in _blocks(tokens):
        if not heading and (kind == "h1" or (kind.startswith("h") and not blocks)):
            heading = text
        elif text:
            blocks.append(text)
    return heading, "\n\n".join(blocks), [link for token in tokens for link in _links(token)]


def _links(block: "Token") -> Iterator[str]:
    """Each with its address and its words."""
    inside = list(block.children or ())
    for number, token in enumerate(inside):
        if token.type == "link_open":
            end = next(at for at in range(number, len(inside)) if inside[at].type == "link_close")
            yield f"{token.attrs['href']}\t{' '.join(part.content for part in inside[number:end] if part.content)}"


def _blocks(tokens: "list[Token]") -> Iterator[tuple[str, str]]:
    """Each block with its tag."""
    table, head = list[list[str]](), list[str]()
    for before, token in zip([None, *tokens], tokens):  # noqa: B905
        match token.type:
            case "inline" if table:
                table[-1].append(_inline(token))
            case "inline":
                yield before.tag if before else "p", _inline(token)
            case "fence" | "code_block":
                yield "code", token.content.rstrip()
            case "html_block":
                yield "html", html.unescape(" ".join(_TAG.sub(" ", token.content).split()))
            case "tr_open":
                table.append([])
            case "thead_close":
                head, table = table[0], []
            case "table_close":
                yield "table", "\n".join(_row(head, cells) for cells in table)
                head, table = [], []


def _row(head: list[str], cells: list[str]) -> str:
    named = [f"{name}: {cell}" if name else cell for name, cell in zip(head, cells, strict=True) if cell]
    row = "; ".join(named)
    return row if row.endswith(_STOPS) else f"{row}."


def _inline(block: "Token") -> str:
    parts = []
    for token in block.children or ():
        if token.type in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif token.type != "html_inline":
            parts.append(token.content)
        elif token.content.lower().startswith("<br"):
            parts.append("\n")
    return " ".join(_WRAPPED_HAN.sub("", "".join(parts)).split())


def joined(text: str) -> str:
    """Lines that were broken for their width alone as one, in scripts without blanks without one."""
    return _WRAPPED.sub(" ", _WRAPPED_HAN.sub("", text))
