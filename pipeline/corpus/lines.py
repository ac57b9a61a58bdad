"""A line for each document that is kept, in files of one part each: what is needed once all parts are there.

They are read in bounded memory: the ids in their order, from all files at once, for the fingerprint; the numbers a
range of hashes at a time.
"""

import heapq
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pipeline.corpus import parts
from pipeline.corpus.seen import Hashes

_SCHEMA = pa.schema(
    [("id", pa.string()), ("sha256", pa.string()), ("row", pa.uint32()), ("passages", pa.uint32()),
     ("id_hash", pa.uint64()), ("text_hash", pa.uint64())]
)  # fmt: skip
_TOGETHER = 512
"""Lines of a part that are in memory while all are merged."""
_SORTED = 1 << 21
"""Documents that are sorted together, about."""


def name(number: int) -> str:
    return f"lines-{number:05}.arrow"


def write(path: Path, documents: pa.Table, first: int) -> pa.Table:
    """The lines, sorted by their ids, of documents with what was found of them; `first` is the row of the first."""
    rows = parts.numbers(np.arange(first, first + len(documents), dtype=np.uint32))
    lines = documents.append_column("row", rows).select(_SCHEMA.names)
    lines = lines.take(pc.sort_indices(lines.column("id"))).combine_chunks()
    parts.write(path, *parts.batches(lines, _TOGETHER))
    return lines


def merged(folder: Path, count: int) -> Iterator[tuple[str, str, int]]:
    """Id, digest and row of all documents, in the order of their ids."""
    return heapq.merge(*(_each(folder / name(number)) for number in range(count)))


def _each(path: Path) -> Iterator[tuple[str, str, int]]:
    batch = 0
    while True:
        with pa.OSFile(str(path)) as source:
            file = pa.ipc.open_file(source)
            if batch >= file.num_record_batches:
                return
            lines = file.get_batch(batch)
        yield from zip(*(lines.column(column).to_pylist() for column in ("id", "sha256", "row")), strict=True)
        batch += 1


def number_rows(folder: Path, count: int, documents: int) -> None:
    """Write the numbers that `parts.RowNumbers` reads."""
    columns = {
        field.name: np.lib.format.open_memmap(
            folder / f"{field.name}.npy", "w+", field.type.to_pandas_dtype(), (documents,)
        )
        for field in parts.NUMBERS
    }
    before = start = 0
    for number in range(count):
        rows, passages = _columns(folder / name(number), "row", "passages")
        ordered = passages[np.argsort(rows)]
        columns["first"][start : start + len(rows)] = before + _before(ordered)
        before, start = before + int(ordered.sum(dtype=np.uint64)), start + len(rows)
    before = start = 0
    ranges = documents // _SORTED + 1
    for place in range(ranges):
        least, most = (2**64 * bound // ranges for bound in (place, place + 1))
        found = [_between(folder / name(number), least, most - 1) for number in range(count)]
        hashes, rows, passages = (np.concatenate(of) for of in zip(*found, strict=True))
        order, end = np.lexsort((rows, hashes)), start + len(rows)
        columns["hash"][start:end], columns["row"][start:end] = hashes[order], rows[order]
        columns["ahead"][start:end] = before + _before(passages[order])
        before, start = before + int(passages.sum(dtype=np.uint64)), end
    arrays = [parts.numbers(columns[field.name]) for field in parts.NUMBERS]
    parts.write(folder / parts.ROWS, pa.RecordBatch.from_arrays(arrays, schema=parts.NUMBERS))


def _between(path: Path, least: int, most: int) -> list[Any]:
    hashes, *others = _columns(path, "id_hash", "row", "passages")
    within = (hashes >= np.uint64(least)) & (hashes <= np.uint64(most))
    return [column[within] for column in (hashes, *others)]


def _columns(path: Path, *names: str) -> list[Any]:
    lines = parts.mapped(path)
    return [parts.column(lines, column) for column in names]


def _before(counts: Any) -> Hashes:
    ends = np.cumsum(counts, dtype=np.uint64)
    ends -= counts
    return ends
