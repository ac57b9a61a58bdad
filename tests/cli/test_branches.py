from pathlib import Path

import pyarrow.parquet as pq

from tests.cli.conftest import Digsite


def test_forks_are_counted_kept_and_exported(digsite: Digsite, run: Path) -> None:
    said = digsite("branch", "tiny", "--method", "pivot", "--out", run, "--json")
    assert said.code == 0
    assert said.json["complete"]
    assert said.json["forks"] > 0
    assert said.json["calls"] > 0
    shards = (run / "tiny/latest/dataset/records").glob("*.parquet")
    rows = [row for shard in shards for row in pq.read_table(shard, columns=["forks"]).to_pylist()]
    assert sum(len(row["forks"]) for row in rows) == said.json["forks"]
    again = digsite("branch", "tiny", "--method", "pivot", "--out", run, "--json")
    assert again.json == said.json


def test_a_small_budget_says_that_there_is_more(digsite: Digsite, run: Path) -> None:
    said = digsite("branch", "tiny", "--method", "pivot", "--calls", "3", "--out", run)
    assert said.code == 0
    assert "more --calls" in said.err
    assert "these figures describe the pipeline, not the quality of the data" in said.err
