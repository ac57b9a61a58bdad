"""Read and write the Arrow IPC files of a prepared corpus.

`part-00000.arrow` and the following files hold the documents in the order of the source, each with the ranges of its
passages: the text of a passage is a slice of its document's text. `rows.arrow` holds four numbers per document.
`aliases.arrow` holds a row for each title that a document has besides its own.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from pipeline.corpus.hashes import Hashes, Rows
from pipeline.store.files import atomic_file, utf8_path
from pipeline.text import Span
from pipeline.types import Document

TEXTS = pa.schema([(name, pa.string()) for name in ("id", "title", "text", "url", "date", "source", "links")])
DOCUMENTS = TEXTS.append(pa.field("spans", pa.list_(pa.uint32())))
_TOGETHER = 1024
"""Number of documents that are converted at a time."""
ALIASES = pa.schema([("document", pa.uint32()), ("title", pa.string())])
NUMBERS = pa.schema([("first", pa.uint64()), ("hash", pa.uint64()), ("row", pa.uint32()), ("ahead", pa.uint64())])
ROWS, ALIAS = "rows.arrow", "aliases.arrow"


def part(number: int) -> str:
    return f"part-{number:05}.arrow"


def write(path: Path, *batches: pa.RecordBatch) -> None:
    with atomic_file(path) as sink, pa.ipc.new_file(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def map_table(path: Path) -> pa.Table:
    """Map a table, so that pages are read on access. The handle is closed, since a process may have few of them."""
    with pa.memory_map(utf8_path(path)) as source:
        return pa.ipc.open_file(source).read_all()


def texts(documents: Sequence[Document]) -> pa.RecordBatch:
    columns = [strings([getattr(document, name) for document in documents]) for name in TEXTS.names]
    return pa.RecordBatch.from_arrays(columns, schema=TEXTS)


def spans(documents: Sequence[Sequence[Span]]) -> pa.ListArray:
    """Return the starts and ends of each document's passages."""
    flat = numbers(np.array([end for passages in documents for span in passages for end in span], dtype=np.uint32))
    return pa.ListArray.from_arrays(_ends([2 * len(passages) for passages in documents]), flat)


def aliases(pairs: Sequence[tuple[int, str]]) -> pa.RecordBatch:
    rows, titles = np.array([row for row, _ in pairs], dtype=np.uint32), [title for _, title in pairs]
    return pa.RecordBatch.from_arrays([numbers(rows), strings(titles)], schema=ALIASES)


def strings(values: Sequence[str]) -> pa.Array:
    """Return the same array as `pa.array`, which would import pandas."""
    encoded = [value.encode() for value in values]
    ends = _ends([len(value) for value in encoded]).buffers()[1]
    return pa.StringArray.from_buffers(len(encoded), ends, pa.py_buffer(b"".join(encoded)))


def numbers(values: npt.NDArray[Any]) -> pa.Array:
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def column(table: pa.Table, name: str) -> Any:
    """Return the numbers of a column. The array shares their memory if they are in one batch."""
    dtype = table.schema.field(name).type.to_pandas_dtype()
    chunks = [chunk for chunk in table.column(name).chunks if len(chunk)]
    arrays = [np.frombuffer(chunk.buffers()[1], dtype)[chunk.offset : chunk.offset + len(chunk)] for chunk in chunks]
    return arrays[0] if len(arrays) == 1 else np.concatenate([np.empty(0, dtype), *arrays])


def _ends(lengths: Sequence[int]) -> pa.Array:
    return numbers(np.cumsum([0, *lengths], dtype=np.int32))


class Parts:
    """Documents of some parts, by row.

    `check` is called with the name of each part before it is first read, and raises an error if the part is damaged.
    """

    def __init__(self, folder: Path, count: int, check: Callable[[str], None] | None = None) -> None:
        self._paths = [folder / part(number) for number in range(count)]
        self._check = check or (lambda _: None)
        self._unchecked = set(range(count)) if check else set[int]()
        tables = [map_table(path) for path in self._paths]
        self._ends = list(accumulate(table.num_rows for table in tables))
        table = pa.concat_tables(tables or [pa.Table.from_batches([], schema=DOCUMENTS)])
        # Look the columns up once, not for each value.
        self._columns = dict(zip(table.column_names, table.columns, strict=True))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def _ensure_checked(self, number: int) -> None:
        if number in self._unchecked:
            self._check(part(number))
            self._unchecked.discard(number)

    def _cell(self, row: int, name: str) -> Any:
        if self._unchecked:
            self._ensure_checked(bisect_right(self._ends, row))
        return self._columns[name][row]

    def value(self, row: int, name: str) -> str:
        return str(self._cell(row, name).as_py())

    def document(self, row: int) -> Document:
        return document([self.value(row, name) for name in TEXTS.names])

    def span(self, row: int, number: int) -> Span:
        ends = self._cell(row, "spans").values
        return Span(ends[2 * number].as_py(), ends[2 * number + 1].as_py())

    def iterate_columns(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """Yield these columns of all rows, in order. Parts are read and not mapped, so that memory is freed again."""
        options = pa.ipc.IpcReadOptions(included_fields=[DOCUMENTS.get_field_index(name) for name in names])
        for number, path in enumerate(self._paths):
            self._ensure_checked(number)
            # Use Arrow's own file: it would release a Python file on another thread, which aborts a process at its end.
            with pa.OSFile(utf8_path(path)) as source:
                table = pa.ipc.open_file(source, options=options).read_all()
            for start in range(0, table.num_rows, _TOGETHER):
                rows = table.slice(start, _TOGETHER)
                yield from zip(*(rows.column(name).to_pylist() for name in names), strict=True)

    def all(self) -> Iterator[tuple[Document, list[Span]]]:
        """Yield all documents, without their aliases."""
        for *texts, numbers in self.iterate_columns(*TEXTS.names, "spans"):
            yield document(texts), [Span(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)]


def document(texts: Sequence[str]) -> Document:
    return Document(**dict(zip(TEXTS.names, texts, strict=True)))


class RowNumbers:
    """Four numbers for each document.

    `first`: the number of passages before it. `hashes`: the sorted hashes of all ids; two sources of the same documents
    share this order. `rows`: the row of the document with that id. `ahead`: the number of passages before it in that
    order.
    """

    def __init__(self, path: Path) -> None:
        table = map_table(path)
        self.first: Hashes = column(table, "first")
        self.hashes: Hashes = column(table, "hash")
        self.rows: Rows = column(table, "row")
        self.ahead: Hashes = column(table, "ahead")
