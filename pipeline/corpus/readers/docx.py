"""A Word file as one document. mammoth converts it to HTML with headings, lists, tables and notes, without pictures."""

import io
from collections.abc import Iterator
from pathlib import Path

from pipeline.corpus.document_blocks import Parsed
from pipeline.corpus.html_blocks import parse_html
from pipeline.corpus.readers.base import ReadLimits, Row, parse_alone
from pipeline.corpus.zip_archives import open_archive

SUFFIXES: tuple[str, ...] = (".docx", ".docm")
KIND, EXTRA = "DOCX", "office"
MODULE = PACKAGE = "mammoth"
_STYLES = "p[style-name='Title'] => h1:fresh"


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    return parse_alone("docx", path, limits)


def parse_file(data: bytes) -> Parsed:
    import mammoth

    open_archive(data).close()
    pictures = mammoth.images.img_element(lambda _: {})
    page = mammoth.convert_to_html(io.BytesIO(data), convert_image=pictures, style_map=_STYLES)
    return parse_html(page.value)
