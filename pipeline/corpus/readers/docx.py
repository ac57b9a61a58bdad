"""A Word file as one document. mammoth converts it to HTML with headings, lists, tables and notes, without pictures."""

import io
from functools import partial

from pipeline.corpus.document_blocks import Parsed
from pipeline.corpus.html_blocks import parse_html
from pipeline.corpus.readers.base import Package, Reader, read_in_parser_process
from pipeline.corpus.zip_archives import open_archive

_STYLES = "p[style-name='Title'] => h1:fresh"


def parse(data: bytes) -> Parsed:
    import mammoth

    open_archive(data).close()
    pictures = mammoth.images.img_element(lambda _: {})
    page = mammoth.convert_to_html(io.BytesIO(data), convert_image=pictures, style_map=_STYLES)
    return parse_html(page.value)


READER = Reader(
    read=partial(read_in_parser_process, "docx"),
    suffixes=(".docx", ".docm"),
    kind="DOCX",
    parse=parse,
    package=Package("mammoth", "office"),
)
