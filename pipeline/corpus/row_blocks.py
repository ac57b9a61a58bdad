"""Reads the rows of a source in blocks, each of which becomes a part of the corpus."""

from collections.abc import Iterator
from concurrent.futures import Future
from functools import partial

import pyarrow as pa

from pipeline.corpus import parts, readers
from pipeline.corpus.cutting_process import CUTS, Cutter
from pipeline.corpus.documents import document_of, has_text, own_id
from pipeline.corpus.manifest import Manifest
from pipeline.corpus.nested_fields import field
from pipeline.corpus.progress_log import LoggedProgress
from pipeline.corpus.published import notes
from pipeline.corpus.read_and_left_out import RowRead
from pipeline.corpus.readers.base import Row
from pipeline.errors import CorpusError
from pipeline.types import Document

PART_CHARACTERS, PART_ROWS = 32 << 20, 1 << 16
NUMBERED = "rows have no id and are named by their place: name a field of ids with --id-field"
_TOGETHER = 2 << 20
"""The characters of documents that are cut together."""


class Block:
    """Some rows of a source, with their documents as Arrow batches while they are cut."""

    def __init__(self, manifest: Manifest, cutter: Cutter) -> None:
        self._manifest, self._cutter = manifest, cutter
        self._has_entities = manifest.reader not in readers.DECODED
        fields = manifest.fields
        self._paths = [name for name in (fields.id, *fields.title, *fields.date, *fields.source) if "." in name]
        self.rows: list[RowRead] = []
        self.names: dict[str, None] = {}
        """The fields of any row."""
        self.characters = 0
        self._texts: list[pa.RecordBatch] = []
        self._cuts: list[Future[pa.RecordBatch]] = []
        self._pending: list[Document] = []
        self._pending_characters = 0

    def add(self, row: Row) -> None:
        self.names.update(dict.fromkeys(row.values))
        self.names.update((path, None) for path in self._paths if field(row.values, path, ...) is not ...)
        document = document_of(row, self._manifest.fields, has_entities=self._has_entities)
        if isinstance(document, str):
            self.rows.append(RowRead(row.place, "bad", document))
        elif not document.text:
            self.rows.append(RowRead(row.place, "empty", kind=row.kind, pages=row.pages))
        elif len(document.title) + 1 + len(document.text) > self._manifest.longest:
            self.rows.append(RowRead(row.place, "oversized", kind=row.kind, pages=row.pages))
        else:
            self.rows.append(RowRead(row.place, notes=self._notes(row, document), kind=row.kind, pages=row.pages))
            self._pending.append(document)
            self._pending_characters += len(document.text)
            self.characters += len(document.text)
            if self._pending_characters > _TOGETHER:
                self.submit()

    def _notes(self, row: Row, document: Document) -> tuple[str, ...]:
        # Most rows have an id that is not their key.
        numbered = document.id == row.key and own_id(row.values, self._manifest.fields) == ""
        shown = notes(row.values, self._manifest.fields)
        return tuple(filter(None, (row.note, NUMBERED if numbered else "", *shown)))

    def submit(self) -> None:
        if self._pending:
            self._texts.append(parts.texts(self._pending))
            self._cuts.append(self._cutter.submit(self._texts[-1], self._pending_characters))
        self._pending, self._pending_characters = [], 0

    def documents(self) -> pa.Table:
        """Wait until all documents are cut, and return them with the columns of `CUTS`, in the order of their rows."""
        cuts = pa.Table.from_batches([cut.result() for cut in self._cuts], CUTS)
        texts = pa.Table.from_batches(self._texts, parts.TEXTS)
        return pa.Table.from_arrays([*texts.columns, *cuts.columns], names=[*parts.TEXTS.names, *CUTS.names])


def blocks(manifest: Manifest, cutter: Cutter) -> Iterator[Block]:
    """Yield all rows in blocks. If the reader raises an error, the rows before it are yielded first."""
    block, progress = Block(manifest, cutter), LoggedProgress(f"{manifest.name}: documents read")
    is_document = partial(has_text, fields=manifest.fields)
    try:
        for number, row in enumerate(readers.rows(manifest.reader, manifest.path, manifest.limits, is_document)):
            # A file of thousands of pages takes as long as a million rows.
            progress.at(number)
            block.add(row)
            if block.characters > PART_CHARACTERS or len(block.rows) >= PART_ROWS:
                block.submit()
                yield block
                block = Block(manifest, cutter)
    except CorpusError:
        block.submit()
        yield block
        raise
    block.submit()
    yield block
