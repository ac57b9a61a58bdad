"""Tables that are read from files by their very names: to polars a path with `*`, `?` or `[` in it is a pattern."""

from collections.abc import Mapping
from glob import escape
from pathlib import Path

import polars as pl

from pipeline.store.files import utf8_path


def scan_parquet(*paths: Path) -> pl.LazyFrame:
    """The rows of all files, in that order."""
    return pl.scan_parquet(list(map(utf8_path, paths)), glob=False)


def scan_json_lines(path: Path, schema: Mapping[str, type[pl.DataType]]) -> pl.LazyFrame:
    """Return these fields of a file, with null for what cannot be read."""
    return pl.scan_ndjson(escape(utf8_path(path)), schema=dict(schema), ignore_errors=True)
