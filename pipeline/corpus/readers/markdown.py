"""A Markdown or MDX file as one document, without markup, including that of site generators.

The title is that of the front matter, else the first heading if it is of the first level or begins the text, else the
name of the file. The text excludes the front matter. A paragraph becomes one line, since lines that end in mid-sentence
look like a list; a row of a table becomes a sentence (`Built: 1702; Owner: the abbey.`); the words of links and
pictures are kept. Code is not changed.
"""

import html
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.corpus import front_matter, shortcodes
from pipeline.corpus.document_links import wiki_links
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
    parse_file = partial(_document, mdx=path.suffix.lower() == ".mdx")
    yield document_row(path, limits, parse_file, longest=limits.doc_chars)


def _document(source: str, *, mdx: bool) -> tuple[str, str, list[str]]:
    title, page = front_matter.split_front_matter(source)
    heading, text, links = parse(shortcodes.remove(page, mdx=mdx))
    if title and heading and title != heading:
        text = f"{heading}\n\n{text}"
    return title or heading, text, [*links, *wiki_links(page)]


def parse(source: str) -> tuple[str, str, list[str]]:
    """Return the heading that names the document, if there is one, the text after it, and the links."""
    from markdown_it import MarkdownIt  # start-up time

    heading, blocks = "", list[str]()
    tokens = MarkdownIt("commonmark").enable("table").parse(source)
    for kind, text in _blocks(tokens):
        if not heading and (kind == "h1" or (kind.startswith("h") and not blocks)):
            heading = text
        elif text:
            blocks.append(text)
    return heading, "\n\n".join(blocks), [link for token in tokens for link in _links(token)]


def _links(block: "Token") -> Iterator[str]:
    tokens = list(block.children or ())
    for start, token in enumerate(tokens):
        if token.type == "link_open":
            end = next(index for index in range(start, len(tokens)) if tokens[index].type == "link_close")
            yield f"{token.attrs['href']}\t{' '.join(part.content for part in tokens[start:end] if part.content)}"


def _blocks(tokens: "list[Token]") -> Iterator[tuple[str, str]]:
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
    row = "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(head, cells, strict=True) if cell)
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


def join_lines(text: str) -> str:
    """Join wrapped lines with a blank, or without one in scripts that have none."""
    return _WRAPPED.sub(" ", _WRAPPED_HAN.sub("", text))
