"""A path of a user's may hold `*`, `?` or `[`. What takes a path for a pattern stands in one place."""

import ast

import pytest

from tests.rules.source import Source, called, tree

SCANS = frozenset(f"{verb}_{kind}" for verb in ("scan", "read") for kind in "parquet csv ndjson ipc delta".split())
WHOLE_FOLDERS = frozenset("load_dataset from_parquet from_json from_csv parquet_scan read_csv_auto".split())
HOME = "pipeline/store/tables.py"


def patterns(source: Source) -> list[str]:
    if source.path == HOME:
        return []
    calls = [node for node in source.nodes if isinstance(node, ast.Call)]
    return [source.at(call, f"`{ast.unparse(call)[:60]}` reads a pattern; {HOME} reads a path") for call in calls
            if called(call).rpartition(".")[2] in WHOLE_FOLDERS or _scans(call)]  # fmt: skip


def _scans(call: ast.Call) -> bool:
    module, _, name = called(call).rpartition(".")
    return name in SCANS and bool(module)


def test_a_path_is_read_as_it_is_written() -> None:
    found = [message for source in tree("pipeline", "flows") for message in patterns(source)]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "pl.scan_parquet(path)",
        "pl.scan_parquet(folder / '*.parquet')",
        "polars.read_parquet(str(path))",
        "pl.scan_ndjson(paths)",
        "duckdb.read_parquet(path)",
        "datasets.load_dataset('parquet', data_files=str(path))",
        "load_dataset(path)",
    ],
)
def test_a_planted_pattern_is_caught(text: str) -> None:
    assert patterns(Source("pipeline/run/planted.py", text))


@pytest.mark.parametrize("text", ["scan_parquet(path)", "pq.read_table(path)", "pq.read_schema(path)"])
def test_reading_a_path_is_not_caught(text: str) -> None:
    assert patterns(Source("pipeline/run/planted.py", text)) == []
