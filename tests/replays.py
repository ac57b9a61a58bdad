"""Runs of the demo model, and the calls of their rollouts with what was observed."""

from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from pipeline.exports.views.records import record
from pipeline.types import Trajectory
from tests.cli.conftest import run_well


class Replay(NamedTuple):
    """The calls of a trajectory that were observed, and what was."""

    calls: list[list[str]]
    observed: list[str]


def generate_run(out: Path, corpus: str, *options: str) -> Path:
    run_well("generate", corpus, "--no-flow", "--out", out, *options)
    return out


def load_trajectories(out: Path) -> list[Trajectory]:
    """Return the trajectories of all rollouts in the data set."""
    shards = sorted(out.glob("*/latest/dataset/records/*.parquet"))
    records = [record(row) for shard in shards for row in pq.read_table(shard).to_pylist()]
    return [
        rollout.trajectory
        for stored_record in records
        for rollout in (*stored_record.confirmation, *(r for past in stored_record.rounds for r in past.rollouts))
    ]


def observed_calls(trajectory: Trajectory) -> Replay:
    tools = {message.tool_call_id: message.content for message in trajectory.messages if message.role == "tool"}
    calls = [call for message in trajectory.messages for call in message.tool_calls if call.id in tools]
    return Replay([[call.name, call.arguments] for call in calls], [tools[call.id] for call in calls])
