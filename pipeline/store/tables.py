"""Polars tables from files with any name: polars would take a path with `*`, `?` or `[` for a pattern."""

from collections.abc import Mapping
from glob import escape
from pathlib import Path

import polars as pl

from pipeline.store.files import utf8_path


def scan_parquet(*paths: Path) -> pl.LazyFrame:
    return pl.scan_parquet(list(map(utf8_path, paths)), glob=False)


def scan_json_lines(path: Path, schema: Mapping[str, type[pl.DataType]]) -> pl.LazyFrame:
    return pl.scan_ndjson(escape(utf8_path(path)), schema=dict(schema), ignore_errors=True)
