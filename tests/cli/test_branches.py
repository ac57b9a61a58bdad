from pathlib import Path

import pyarrow.parquet as pq

from tests.cli.conftest import Digsite


def test_forks_are_counted_kept_and_exported(digsite: Digsite, run: Path) -> None:
    output = digsite("branch", "tiny", "--method", "pivot", "--out", run, "--json")
    assert output.code == 0
    assert output.json["complete"]
    assert output.json["forks"] > 0
    assert output.json["calls"] > 0
    shards = (run / "tiny/latest/dataset/records").glob("*.parquet")
    rows = [row for shard in shards for row in pq.read_table(shard, columns=["forks"]).to_pylist()]
    assert sum(len(row["forks"]) for row in rows) == output.json["forks"]
    repeated = digsite("branch", "tiny", "--method", "pivot", "--out", run, "--json")
    assert repeated.json == output.json


def test_a_small_budget_says_how_to_get_more_forks(digsite: Digsite, run: Path) -> None:
    output = digsite("branch", "tiny", "--method", "pivot", "--calls", "3", "--out", run)
    assert output.code == 0
    assert "more --calls" in output.err
    assert "these figures describe the pipeline, not the quality of the data" in output.err
