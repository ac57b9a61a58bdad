"""Parquet, a batch of rows at a time. Bytes are counted as the footer states them, before anything is unpacked."""

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
            for batch in file.iter_batches(_BATCH):
                for values in batch.to_pylist():
                    number += 1
                    yield Row(f"row {number}", str(number), values)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise CorpusError(f"{path}: cannot be read as Parquet ({str(error).splitlines()[0]})") from error
