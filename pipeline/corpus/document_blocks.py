"""Documents as lists of blocks: headings, paragraphs, rows of tables and code, in the order of the text.

Readers of files with markup convert them to blocks. The first heading becomes the title. A document that is longer than
the limit of the corpus is split at its headings, so that a book is read and not left out.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from pipeline.text import HAN

_STOPS = (".", "!", "?", ":", "。", "！", "？")
WRAPPED_HAN = re.compile(rf"(?<=[{HAN}、。，])\n(?=[{HAN}])")
_NAME = 200
"""The most characters of the heading in the title of a section."""
_LEVELS = ("h1", "h2", "h3", "h4", "h5", "h6")


class Block(NamedTuple):
    kind: str
    """`h1` to `h6` for a heading; readers choose the other kinds."""
    text: str


class Parsed(NamedTuple):
    """The content of a file."""

    title: str
    """Empty if only the headings or the name of the file can name it."""
    blocks: list[Block]
    links: Sequence[str] = ()
    """Targets, each with a tab and the words of the link, as in the field `links` of a row."""
    pages: Mapping[str, int] = MappingProxyType({})
    """Remarks about pages that are left out, each with the number of pages."""


def split_title(blocks: Iterable[Block], *, any_level: bool = True) -> tuple[str, list[Block]]:
    """Return the heading that names a document and the other blocks.

    That is a heading that begins the text, else the first one of the first level, else with `any_level` the first one.
    """
    texts = [block for block in blocks if block.text]
    places = [place for place, block in enumerate(texts) if block.kind in _LEVELS]
    first_level = [place for place in places if texts[place].kind == "h1"]
    candidates = places if 0 in places else first_level or (places if any_level else [])
    if not candidates:
        return "", texts
    place = candidates[0]
    return texts[place].text, [*texts[:place], *texts[place + 1 :]]


def join(blocks: Iterable[Block]) -> str:
    return "\n\n".join(block.text for block in blocks if block.text)


def to_one_line(text: str) -> str:
    """Return the text as one line. Wrapped lines of scripts without blanks are joined without one."""
    return " ".join(WRAPPED_HAN.sub("", text).split())


def describe_row(head: list[str], cells: list[str]) -> str:
    """Return a row of a table as a sentence, such as `Built: 1702; Owner: the abbey.`."""
    names = [*head, *[""] * (len(cells) - len(head))]
    row = "; ".join(f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=False) if cell)
    return row if row.endswith(_STOPS) else f"{row}."


def split_long(title: str, blocks: list[Block], longest: int) -> Iterator[tuple[str, str]]:
    """Yield the title and text of a document, or of each of its sections if it is longer than `longest` characters.

    A section without headings is cut between paragraphs. A single paragraph that is too long stays whole.
    """
    for heading, section in _split_at_headings("", blocks, longest - len(title) - _NAME, 0):
        name = heading[: _NAME - 4]
        yield f"{title}: {name}" if title and name else title or name, join(section)


def _split_at_headings(
    heading: str, blocks: list[Block], longest: int, level: int
) -> Iterator[tuple[str, list[Block]]]:
    if sum(len(block.text) + 2 for block in blocks) <= longest:
        yield heading, blocks
    elif level == len(_LEVELS):
        parts = list(_pack(blocks, longest))
        yield from ((f"{heading} ({number})".lstrip(), part) for number, part in enumerate(parts, 1))
    else:
        for inner, section in _sections(blocks, _LEVELS[level]):
            yield from _split_at_headings(inner or heading, section, longest, level + 1)


def _sections(blocks: list[Block], level: str) -> Iterator[tuple[str, list[Block]]]:
    """Yield the blocks before the first heading of that level, and those after each of them with the heading."""
    heading, section = "", list[Block]()
    for block in blocks:
        if block.kind == level:
            if section:
                yield heading, section
            heading, section = block.text, []
        else:
            section.append(block)
    if section:
        yield heading, section


def _pack(blocks: list[Block], longest: int) -> Iterator[list[Block]]:
    part, size = list[Block](), 0
    for block in blocks:
        if part and size + len(block.text) > longest:
            yield part
            part, size = [], 0
        part.append(block)
        size += len(block.text) + 2
    if part:
        yield part
