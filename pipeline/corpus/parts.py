"""The files of a prepared corpus, Arrow IPC all of them.

`part-00000.arrow` and so on hold the documents in the order of the source, each with the places where it is cut: the
text of a passage is a slice of its document's. `rows.arrow` holds four numbers for each document, `aliases.arrow` a row
for each title that a document has besides its own.
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
"""Documents read at once by who reads all."""
ALIASES = pa.schema([("document", pa.uint32()), ("title", pa.string())])
NUMBERS = pa.schema([("first", pa.uint64()), ("hash", pa.uint64()), ("row", pa.uint32()), ("ahead", pa.uint64())])
ROWS, ALIAS = "rows.arrow", "aliases.arrow"


def part(number: int) -> str:
    return f"part-{number:05}.arrow"


def write(path: Path, *batches: pa.RecordBatch) -> None:
    with atomic_file(path) as sink, pa.ipc.new_file(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)


def batches(table: pa.Table, most: int | None = None) -> list[pa.RecordBatch]:
    """Of so many rows; one at least, for `write`."""
    if not table.num_rows:
        empty = [pa.nulls(0, field.type) for field in table.schema]
        return [pa.RecordBatch.from_arrays(empty, schema=table.schema)]
    return list(table.to_batches(most))


def mapped(path: Path) -> pa.Table:
    """Its pages are read when they are looked at. The handle is closed: a process may have few of them."""
    with pa.memory_map(utf8_path(path)) as source:
        return pa.ipc.open_file(source).read_all()


def texts(documents: Sequence[Document]) -> pa.RecordBatch:
    columns = [strings([getattr(document, name) for document in documents]) for name in TEXTS.names]
    return pa.RecordBatch.from_arrays(columns, schema=TEXTS)


def spans(found: Sequence[Sequence[Span]]) -> pa.ListArray:
    """Of each document the places where its passages begin and end."""
    flat = numbers(np.array([end for of in found for span in of for end in span], dtype=np.uint32))
    return pa.ListArray.from_arrays(_ends([2 * len(of) for of in found]), flat)


def aliases(found: Sequence[tuple[int, str]]) -> pa.RecordBatch:
    rows, titles = np.array([row for row, _ in found], dtype=np.uint32), [title for _, title in found]
    return pa.RecordBatch.from_arrays([numbers(rows), strings(titles)], schema=ALIASES)


def strings(values: Sequence[str]) -> pa.Array:
    """An Arrow array, as `pa.array` makes it, which imports pandas for it."""
    encoded = [value.encode() for value in values]
    ends = _ends([len(value) for value in encoded]).buffers()[1]
    return pa.StringArray.from_buffers(len(encoded), ends, pa.py_buffer(b"".join(encoded)))


def numbers(values: npt.NDArray[Any]) -> pa.Array:
    kind = pa.from_numpy_dtype(values.dtype)
    return pa.Array.from_buffers(kind, len(values), [None, pa.py_buffer(np.ascontiguousarray(values))])


def column(table: pa.Table, name: str) -> Any:
    """The numbers of a column as an array that shares their memory, where they are of one batch."""
    kind = table.schema.field(name).type.to_pandas_dtype()
    chunks = [chunk for chunk in table.column(name).chunks if len(chunk)]
    found = [np.frombuffer(c.buffers()[1], kind)[c.offset : c.offset + len(c)] for c in chunks]
    return found[0] if len(found) == 1 else np.concatenate([np.empty(0, kind), *found])


def _ends(lengths: Sequence[int]) -> pa.Array:
    return numbers(np.cumsum([0, *lengths], dtype=np.int32))


class Parts:
    """The documents of some parts, by their row.

    `check` is called with the name of each part before it is first read, and raises where the part is damaged.
    """

    def __init__(self, folder: Path, count: int, check: Callable[[str], None] | None = None) -> None:
        self._paths = [folder / part(number) for number in range(count)]
        self._check = check or (lambda _: None)
        self._unchecked = set(range(count)) if check else set[int]()
        tables = [mapped(path) for path in self._paths]
        self._ends = list(accumulate(table.num_rows for table in tables))
        table = pa.concat_tables(tables or [pa.Table.from_batches([], schema=DOCUMENTS)])
        # Once, and not for each value that is read.
        self._columns = dict(zip(table.column_names, table.columns, strict=True))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def _checked(self, number: int) -> None:
        if number in self._unchecked:
            self._check(part(number))
            self._unchecked.discard(number)

    def _cell(self, row: int, name: str) -> Any:
        if self._unchecked:
            self._checked(bisect_right(self._ends, row))
        return self._columns[name][row]

    def value(self, row: int, name: str) -> str:
        return str(self._cell(row, name).as_py())

    def document(self, row: int) -> Document:
        return document([self.value(row, name) for name in TEXTS.names])

    def span(self, row: int, number: int) -> Span:
        ends = self._cell(row, "spans").values
        return Span(ends[2 * number].as_py(), ends[2 * number + 1].as_py())

    def each(self, *names: str) -> Iterator[tuple[Any, ...]]:
        """These columns of all rows, in order. Read and not mapped, so that what was read is let go."""
        wanted = pa.ipc.IpcReadOptions(included_fields=[DOCUMENTS.get_field_index(name) for name in names])
        for number, path in enumerate(self._paths):
            self._checked(number)
            # Arrow lets go of a file of Python's on a thread of its own, which aborts a process that is about to end.
            with pa.OSFile(utf8_path(path)) as source:
                table = pa.ipc.open_file(source, options=wanted).read_all()
            for start in range(0, table.num_rows, _TOGETHER):
                rows = table.slice(start, _TOGETHER)
                yield from zip(*(rows.column(name).to_pylist() for name in names), strict=True)

    def all(self) -> Iterator[tuple[Document, list[Span]]]:
        """Without their aliases."""
        for *texts, numbers in self.each(*TEXTS.names, "spans"):
            yield document(texts), [Span(*pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)]


def document(texts: Sequence[str]) -> Document:
    """Without its aliases."""
    return Document(**dict(zip(TEXTS.names, texts, strict=True)))


class RowNumbers:
    """Four numbers for each document.

    `first`: the passages before it. `hashes`: the hashes of all ids, sorted, which is an order that two sources of the
    same documents share; `rows`: the row of the document whose id that is; `ahead`: the passages before it in that
    order.
    """

    def __init__(self, path: Path) -> None:
        table = mapped(path)
        self.first: Hashes = column(table, "first")
        self.hashes: Hashes = column(table, "hash")
        self.rows: Rows = column(table, "row")
        self.ahead: Hashes = column(table, "ahead")
