"""A PDF file as one document. liteparse reads its layout as Markdown: paragraphs, headings, lists and tables.

Nothing is recognised in pictures: pages without text are counted. So are pages whose fonts do not say which characters
their glyphs are; their text is left out. Running heads and page numbers stay out.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import partial

from pipeline.corpus.document_blocks import Block, Parsed
from pipeline.corpus.readers import markdown
from pipeline.corpus.readers.base import Package, Reader, read_in_parser_process
from pipeline.errors import CorpusError

EMPTY = "pages of PDF files hold no text, as scans do, and are left out: recognise it first, with ocrmypdf or the like"
GARBLED = (
    "pages of PDF files are left out, since their fonts do not name their characters: export the PDF again, or run OCR"
)
PACKAGE = Package("liteparse", "pdf")
_HEAD = 1024
"""The first bytes, in which a PDF file says that it is one."""
_LEAST_KEPT = 0.5
_SOFT = re.compile("[\u00ad\ufffe]\\s*")
_NUMBER = re.compile(r"\d+|\b[ivxlcdm]+\b", re.IGNORECASE)
_RUNNING = 3
"""A line at the top or bottom of a page is a running head if so many pages have it, whatever its numbers."""
_STOPS = (".", "!", "?", ":", ";", "。", "！", "？", "”", '"', ")")


def parse(data: bytes) -> Parsed:
    from liteparse import LiteParse

    if b"%PDF-" not in data[:_HEAD]:  # liteparse would convert other formats with programs of this machine
        raise CorpusError("not a PDF file")
    parser = LiteParse(
        ocr_enabled=False,
        output_format="markdown",
        image_mode="off",
        keep_headers_footers=False,
        include_complexity=True,
        quiet=True,
    )
    pages, notes, links = list[list[Block]](), Counter[str](), list[str]()
    for page in parser.parse(data).pages:
        if not page.text.strip():
            notes[EMPTY] += 1
        elif page.complexity and page.complexity.is_garbled:
            notes[GARBLED] += 1
        else:
            # liteparse takes pages that repeat each other for running heads.
            is_lost = len(page.markdown.split()) < _LEAST_KEPT * len(page.text.split())
            parsed = markdown.parse_blocks(_SOFT.sub("", page.text if is_lost else page.markdown), named_columns=False)
            pages.append([block for block in parsed.blocks if block.text])
            links += parsed.links
    if notes[GARBLED] and not pages:
        raise CorpusError("its fonts do not name their characters; export the PDF again, or run OCR on it")
    return Parsed("", list(_join_pages(_remove_running_heads(pages))), links, dict(notes))


def _remove_running_heads(pages: list[list[Block]]) -> list[list[Block]]:
    edges = Counter(form for blocks in pages for form in {_form(block) for block in _edges(blocks)})
    for blocks in pages:
        for block in _edges(blocks):
            if (form := _form(block)) == "#" or edges[form] >= _RUNNING:
                blocks.remove(block)
    return pages


def _edges(blocks: list[Block]) -> list[Block]:
    return [blocks[0], blocks[-1]] if len(blocks) > 1 else blocks[:1]


def _form(block: Block) -> str:
    """Return a text without its numbers."""
    return _NUMBER.sub("#", " ".join(block.text.split())) if len(block.text) < 200 else block.text


def _join_pages(pages: Iterable[list[Block]]) -> Iterator[Block]:
    """Yield the blocks of all pages. A paragraph that goes on at the top of the next page stays one."""
    last: Block | None = None
    for blocks in pages:
        for place, block in enumerate(blocks):
            goes_on = last and place == 0 and last.kind == block.kind == "p" and not last.text.endswith(_STOPS)
            if last and goes_on and not block.text[:1].isupper():
                last = Block("p", f"{last.text} {block.text}")
                continue
            if last:
                yield last
            last = block
    if last:
        yield last


READER = Reader(
    read=partial(read_in_parser_process, "pdf"),
    suffixes=(".pdf",),
    kind="PDF",
    parse=parse,
    package=PACKAGE,
)
