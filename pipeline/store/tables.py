"""Tables that are read from files by their very names: to polars a path with `*`, `?` or `[` in it is a pattern."""

from collections.abc import Mapping, Sequence
from glob import escape
from pathlib import Path

import polars as pl


def scan_parquet(*paths: Path) -> pl.LazyFrame:
    """The rows of all files, in that order."""
    return pl.scan_parquet(list(paths), glob=False)


def scan_json_lines(paths: Sequence[Path], schema: Mapping[str, type[pl.DataType]]) -> pl.LazyFrame:
    """These fields of all files; what cannot be read is null."""
    return pl.scan_ndjson([escape(str(path)) for path in paths], schema=dict(schema), ignore_errors=True)
