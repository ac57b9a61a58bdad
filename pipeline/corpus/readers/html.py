"""An HTML file: one document, the main text of the page without menus, footers and comments.

trafilatura finds it and gives it as Markdown, which becomes text by the same rules as any other.
"""

from collections.abc import Iterator
from pathlib import Path

from pipeline.corpus.readers import markdown
from pipeline.corpus.readers.base import ReadLimits, Row, stem, text_of
from pipeline.errors import CorpusError

SUFFIXES: tuple[str, ...] = (".html", ".htm", ".xhtml")
_MARKUP = 10
"""Characters of a page for each of its text. One of more is left out unparsed, which could take minutes."""


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    try:
        import trafilatura
    except ImportError as error:
        raise CorpusError(f"{path}: to read HTML, pip install 'digsite[html]'") from error
    try:
        source = text_of(path, limits)
    except ValueError as error:
        yield Row(path.name, path.name, {}, str(error))
        return
    if len(source) > _MARKUP * limits.doc_chars:
        yield Row(path.name, path.name, {"title": stem(path), "text": source})
        return
    found = trafilatura.extract(source, output_format="markdown", include_comments=False)
    heading, text = markdown.parsed(found or "")
    data = trafilatura.extract_metadata(source)
    yield Row(path.name, path.name, {"title": data.title or heading or stem(path), "text": text})
