"""Parquet, a batch of rows at a time. Bytes are counted as the footer states them, before anything is unpacked.

Columns that can be no part of a document (lists, structs, dates) are not unpacked: an embedding would cost more than
its text, and a date that Python has no word for would end the read. Their type stands in for their values.
"""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.errors import CorpusError
from pipeline.readers.base import Limits, Row

SUFFIXES = (".parquet",)
_BATCH = 1024


def read(path: Path, limits: Limits) -> Iterator[Row]:
    number = 0
    try:
        with pq.ParquetFile(path) as file:
            meta = file.metadata
            if sum(meta.row_group(i).total_byte_size for i in range(meta.num_row_groups)) > limits.bytes:
                raise CorpusError(f"{path}: more than {limits.bytes} bytes; raise limits.bytes in its manifest")
            odd = {field.name: field.type for field in file.schema_arrow if _odd(field.type)}
            plain = [name for name in file.schema_arrow.names if name not in odd]
            for batch in file.iter_batches(_BATCH, columns=plain):
                for values in batch.to_pylist():
                    number += 1
                    yield Row(f"row {number}", str(number), values | odd)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise CorpusError(f"{path}: cannot be read as Parquet ({str(error).splitlines()[0]})") from error


def _odd(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind) or pa.types.is_temporal(kind))
