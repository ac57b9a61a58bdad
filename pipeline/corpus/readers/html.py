"""An HTML file: one document, the main text of the page without menus, footers and comments.

trafilatura finds it and gives it as Markdown, which becomes text by the same rules as any other. It takes code with a
line end in it for a block of code, wherever it stands, and may take what follows for one too; so line ends that mean
nothing go first.
"""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pipeline.corpus.readers import markdown
from pipeline.corpus.readers.base import ReadLimits, Row, document_row
from pipeline.errors import CorpusError

SUFFIXES: tuple[str, ...] = (".html", ".htm", ".xhtml")
_MARKUP = 10
"""Characters of a page for each of its text. One of more is left out unparsed, which could take minutes."""


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    if find_spec("trafilatura") is None:
        raise CorpusError(f"{path}: to read HTML, pip install 'digsite[html]'")
    yield document_row(path, limits, _document, longest=_MARKUP * limits.doc_chars)


def _document(source: str) -> tuple[str, str]:
    import trafilatura

    page = trafilatura.load_html(source)
    if page is not None:
        _unwrap(page)
    found = None if page is None else trafilatura.extract(page, output_format="markdown", include_comments=False)
    heading, text = markdown.parsed(found or "")
    data = trafilatura.extract_metadata(source)
    return data.title or heading, text


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
