"""An HTML file: one document, the main text of the page without menus, footers and comments.

Its encoding is what a byte-order mark states, else UTF-8 where it is that, else what the page declares. A page that was
saved as UTF-8 often still declares what it had been in, and a text in another encoding is never UTF-8 by chance.

trafilatura finds it and gives it as Markdown, which becomes text by the same rules as any other. It takes code with a
line end in it for a block of code, wherever it stands, and may take what follows for one too; so line ends that mean
nothing go first.
"""

import re
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pipeline.corpus.readers import markdown
from pipeline.corpus.readers.base import ReadLimits, Row, TooMuchMarkup, document_row, marked_encoding
from pipeline.errors import CorpusError

SUFFIXES: tuple[str, ...] = (".html", ".htm", ".xhtml")
_HEAD = 4096
"""Bytes in which a page declares its encoding."""
_DECLARED = re.compile(
    rb"""<meta[^<>]*?\bcharset\s*+=\s*+["']?\s*+([\w.:-]+)|<\?xml[^<>]*?\bencoding\s*+=\s*+["']([\w.:-]+)""",
    re.IGNORECASE,
)
_ATTRIBUTE = r"""[\s/]*+[^\s/>][^\s/>=]*+(?:\s*+=\s*+(?:"[^"]*+"?|'[^']*+'?|[^\s>]*+))?+"""
_TAG = re.compile(f"<[A-Za-z][^\\s/>]*+((?:{_ATTRIBUTE})*+)")
_ONE_ATTRIBUTE = re.compile(_ATTRIBUTE)
_MOST_WORK = 50_000
"""Tags of a page that is parsed, which takes seconds. The parser compares each attribute of a tag with all others, so
that a tag counts once more for every 100 attributes, squared."""
_MARKUP = 10
"""Characters of a page for each of its text. One of more is left out unparsed, which could take minutes."""


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    if find_spec("trafilatura") is None:
        raise CorpusError(f"{path}: to read HTML, pip install 'digsite[html]'")
    yield document_row(path, limits, _document, longest=_MARKUP * limits.doc_chars, encoding=_encoding)


def _encoding(data: bytes) -> str:
    declared = _DECLARED.search(data[:_HEAD])
    if (marked := marked_encoding(data)) or not declared:
        return marked
    import webencodings

    # It knows by which larger encoding browsers read a smaller one, and no codec that is none of texts.
    encoding = webencodings.lookup((declared[1] or declared[2]).decode("ascii", "replace"))
    if encoding is None or encoding.name.startswith("utf"):
        return ""
    try:
        if not data.isascii():
            data.decode()
            return ""
    except UnicodeDecodeError:
        pass
    return str(encoding.codec_info.name)


def _document(source: str) -> tuple[str, str, list[str]]:
    import trafilatura

    if _work(source) > _MOST_WORK:
        raise TooMuchMarkup(f"more than {_MOST_WORK} tags, or too many attributes in one; split the page")
    page = trafilatura.load_html(source)
    links = list[str]()
    if page is not None:
        _unwrap(page)
        anchors = page.iter("a")  # trafilatura takes them out
        links = [f"{a.get('href')}\t{' '.join(a.text_content().split())}" for a in anchors if a.get("href")]
    found = None if page is None else trafilatura.extract(page, output_format="markdown", include_comments=False)
    heading, text, _ = markdown.parsed(found or "")
    data = trafilatura.extract_metadata(source)
    return data.title or heading, text, links


def _work(source: str) -> float:
    return sum(1 + (len(_ONE_ATTRIBUTE.findall(tag[1])) / 100) ** 2 for tag in _TAG.finditer(source))


def _unwrap(page: Any) -> None:
    """Join the lines of all text but that of `pre`, where alone a line end is one on the screen too."""
    blocks = set(page.iter("pre"))
    for block in blocks:
        block.text = "".join(block.itertext()).strip("\n")
        del block[:]
        # What trafilatura takes for code whatever is in it.
        block.tag = "code" if "\n" in block.text else "pre"
    for element in page.iter():
        if element.text and element not in blocks:
            element.text = markdown.joined(element.text)
        if element.tail:
            element.tail = markdown.joined(element.tail)
