"""A PowerPoint file as one document: the texts and tables of each slide under its title, and its notes."""

import io
from collections.abc import Iterator
from functools import partial
from typing import Any

from pipeline.corpus.document_blocks import Block, Parsed, describe_row, to_one_line
from pipeline.corpus.readers.base import Package, Reader, read_in_parser_process
from pipeline.corpus.zip_archives import open_archive


def parse(data: bytes) -> Parsed:
    from pptx import Presentation

    open_archive(data).close()
    blocks = [block for slide in Presentation(io.BytesIO(data)).slides for block in _slide_blocks(slide)]
    return Parsed("", [block for block in blocks if block.text])


def _slide_blocks(slide: Any) -> Iterator[Block]:
    title = slide.shapes.title
    if title is not None:
        yield Block("h2", to_one_line(title.text_frame.text))
    for shape in slide.shapes:
        if title is None or shape.shape_id != title.shape_id:
            yield from _shape_blocks(shape)
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame):
        yield from (Block("p", to_one_line(paragraph.text)) for paragraph in notes.paragraphs)


def _shape_blocks(shape: Any) -> Iterator[Block]:
    if hasattr(shape, "shapes"):  # a group
        for inner in shape.shapes:
            yield from _shape_blocks(inner)
    elif shape.has_text_frame:
        yield from (Block("p", to_one_line(paragraph.text)) for paragraph in shape.text_frame.paragraphs)
    elif getattr(shape, "has_table", False):
        head, *rows = [[to_one_line(cell.text) for cell in row.cells] for row in shape.table.rows] or [[]]
        yield Block("table", "\n".join(describe_row(head, cells) for cells in rows if any(cells)))


READER = Reader(
    read=partial(read_in_parser_process, "pptx"),
    suffixes=(".pptx", ".pptm"),
    kind="PPTX",
    parse=parse,
    package=Package("python-pptx", "office", "pptx"),
)
