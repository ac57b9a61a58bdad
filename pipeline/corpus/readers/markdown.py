"""A Markdown or MDX file as one document, without markup, including that of site generators.

The title is that of the front matter, else a heading that begins the text, else the first one of the first level, else
the first of any level, else the name of the file. A note with wiki links has the name of its file before the last. The
text excludes the front matter. A paragraph becomes one line, since lines that end in mid-sentence look like a list; a
row of a table becomes a sentence (`Built: 1702; Owner: the abbey.`); the words of links and pictures are kept. Code is
not changed.
"""

import html
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pipeline.corpus import front_matter, shortcodes
from pipeline.corpus.document_blocks import Block, Parsed, describe_row, join, split_title, to_one_line
from pipeline.corpus.document_links import wiki_links
from pipeline.corpus.readers.base import Reader, ReadLimits, Row, document_row

if TYPE_CHECKING:
    from markdown_it.token import Token

_TAG = re.compile(r"<!--.*?(?:-->|\Z)|</?[A-Za-z][^<>]*>", re.DOTALL)


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    parse_file = partial(_document, mdx=path.suffix.lower() == ".mdx")
    yield document_row(path, limits, parse_file, longest=limits.doc_chars)


def _document(source: str, *, mdx: bool) -> tuple[str, str, list[str]]:
    title, page = front_matter.split_front_matter(source)
    links_of_vault = [*wiki_links(page)]
    # Notes that link to each other like this do it by the names of their files.
    heading, text, links = parse(shortcodes.remove(page, mdx=mdx), any_level=not links_of_vault)
    if title and heading and title != heading:
        text = f"{heading}\n\n{text}"
    return title or heading, text, [*links, *links_of_vault]


def parse(source: str, *, any_level: bool = True) -> tuple[str, str, list[str]]:
    """Return the heading that names the document, if there is one, the other text, and the links.

    Args:
        source: the page.
        any_level: whether a heading after other text may be of any level and not only of the first.
    """
    page = parse_blocks(source)
    heading, blocks = split_title(page.blocks, any_level=any_level)
    return heading, join(blocks), list(page.links)


def parse_blocks(source: str, *, named_columns: bool = True) -> Parsed:
    """Return the blocks of a page and its links. Without `named_columns` the head of a table is a row like others."""
    from markdown_it import MarkdownIt  # start-up time

    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(source)
    return Parsed(
        "", list(_blocks(tokens, named_columns=named_columns)), [link for token in tokens for link in _links(token)]
    )


def _links(block: "Token") -> Iterator[str]:
    tokens = list(block.children or ())
    for start, token in enumerate(tokens):
        if token.type == "link_open":
            end = next(index for index in range(start, len(tokens)) if tokens[index].type == "link_close")
            yield f"{token.attrs['href']}\t{' '.join(part.content for part in tokens[start:end] if part.content)}"


def _blocks(tokens: "list[Token]", *, named_columns: bool) -> Iterator[Block]:
    table, head = list[list[str]](), list[str]()
    for before, token in zip([None, *tokens], tokens):  # noqa: B905
        match token.type:
            case "inline" if table:
                table[-1].append(_inline(token))
            case "inline":
                yield Block(before.tag if before else "p", _inline(token))
            case "fence" | "code_block":
                yield Block("code", token.content.rstrip())
            case "html_block":
                yield Block("html", html.unescape(" ".join(_TAG.sub(" ", token.content).split())))
            case "tr_open":
                table.append([])
            case "thead_close" if named_columns:
                head, table = table[0], []
            case "table_close":
                yield Block("table", "\n".join(describe_row(head, cells) for cells in table))
                head, table = [], []


def _inline(block: "Token") -> str:
    parts = []
    for token in block.children or ():
        if token.type in ("softbreak", "hardbreak"):
            parts.append("\n")
        elif token.type != "html_inline":
            parts.append(token.content)
        elif token.content.lower().startswith("<br"):
            parts.append("\n")
    return to_one_line("".join(parts))


READER = Reader(read=read, suffixes=(".md", ".markdown", ".mdx"), kind="Markdown")
