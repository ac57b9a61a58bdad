"""`datasets`, pandas, polars and DuckDB give what pyarrow gives, for every view and split."""

import json
import math
import sys
from importlib.metadata import version
from pathlib import Path

import datasets
import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

FOLDER = Path(sys.argv[1])


def to_plain(value):
    """Lists and dicts of plain values, JSON as its text."""
    if isinstance(value, dict):
        return {key: to_plain(item) for key, item in value.items()}
    if hasattr(value, "tolist") and not isinstance(value, str):
        value = value.tolist()
    if isinstance(value, float) and math.isnan(value):
        # pandas' way to say that there is none.
        return None
    return [to_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


def decode(value, kind):
    """Convert a value as `datasets` does: JSON to objects."""
    if isinstance(kind, pa.BaseExtensionType):
        return json.loads(value)
    if pa.types.is_list(kind) and value is not None:
        return [decode(item, kind.value_type) for item in value]
    return value


def round_numbers(value):
    """Numbers without their last digits: the parser by which `datasets` reads JSON is not exact in them."""
    if isinstance(value, dict):
        return {key: round_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [round_numbers(item) for item in value]
    return float(f"{value:.12g}") if isinstance(value, float) else value


def assert_same(actual, expected):
    assert repr(actual) == repr(expected), (repr(actual)[:500], repr(expected)[:500])


def check(view):
    loaded = datasets.load_dataset(str(FOLDER), view)
    for shard in sorted((FOLDER / view).glob("*.parquet")):
        table = pq.read_table(shard)
        rows = table.to_pylist()
        split = shard.name.split("-")[0]
        kinds = {field.name: field.type for field in table.schema}
        assert_same(
            round_numbers(loaded[split].to_list() if not rows else list(loaded[split])),
            round_numbers([{name: decode(value, kinds[name]) for name, value in row.items()} for row in rows]),
        )
        assert_same(to_plain(pl.read_parquet(shard).to_dicts()), rows)
        cursor = duckdb.execute("select * from read_parquet(?)", [str(shard)])
        names = [column[0] for column in cursor.description]
        assert_same([dict(zip(names, row, strict=True)) for row in cursor.fetchall()], rows)
        frame = pd.read_parquet(shard)
        assert list(frame.columns) == table.schema.names
        for name in frame.columns:
            for mine, theirs in zip(rows, frame[name], strict=True):
                assert to_plain(theirs) == mine[name], (view, name)


for view in sorted(path.name for path in FOLDER.iterdir() if path.is_dir() and path.name != "code"):
    check(view)
    packages = ", ".join(f"{name} {version(name)}" for name in ("datasets", "pandas", "polars", "duckdb"))
    done = "every row as pyarrow reads it"
    print("result", json.dumps({"view": view, "version": packages, "check": done}))
