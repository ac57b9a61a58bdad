"""A Jupyter notebook as one document: its texts and code, without outputs."""

from functools import partial
from typing import Any

import orjson

from pipeline.corpus import shortcodes
from pipeline.corpus.document_blocks import Block, Parsed
from pipeline.corpus.readers import markdown
from pipeline.corpus.readers.base import LONGEST, Reader, read_in_parser_process
from pipeline.errors import CorpusError


def parse(data: bytes) -> Parsed:
    if len(data) > LONGEST:
        raise CorpusError(f"longer than {LONGEST >> 20} MiB; clear its outputs")
    notebook = orjson.loads(data)
    # Before version 4 cells lie in worksheets.
    cells = notebook.get("cells") or [cell for sheet in notebook.get("worksheets", ()) for cell in sheet["cells"]]
    pages = [_parse_cell(cell) for cell in cells]
    links = [link for page in pages for link in page.links]
    return Parsed("", [block for page in pages for block in page.blocks], links)


def _parse_cell(cell: dict[str, Any]) -> Parsed:
    source = cell.get("source", cell.get("input", ""))
    text = source if isinstance(source, str) else "".join(source)
    if cell.get("cell_type") == "markdown":
        return markdown.parse_blocks(shortcodes.remove(text))
    return Parsed("", [Block("code", text.strip())] if cell.get("cell_type") == "code" else [])


READER = Reader(
    read=partial(read_in_parser_process, "ipynb"),
    suffixes=(".ipynb",),
    kind="notebook",
    parse=parse,
)
