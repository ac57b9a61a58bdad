"""DeepEval builds a golden from each row of the view."""

import json
import os
import sys
from importlib.metadata import version
from pathlib import Path

os.environ["DEEPEVAL_TELEMETRY_OPT_OUT"] = "YES"

import pyarrow.parquet as pq
from deepeval.dataset import EvaluationDataset, Golden

VIEW = "eval_deepeval"
rows = [row for shard in (Path(sys.argv[1]) / VIEW).glob("train-*.parquet") for row in pq.read_table(shard).to_pylist()]
goldens = EvaluationDataset(goldens=[Golden(**row) for row in rows]).goldens
assert len(goldens) == len(rows) > 0
for golden, row in zip(goldens, rows, strict=True):
    assert (golden.input, golden.expected_output, golden.context) == (
        row["input"],
        row["expected_output"],
        row["context"],
    )
    assert all(golden.context)
report = {"view": VIEW, "version": version("deepeval"), "check": "EvaluationDataset of a Golden(**row) for each row"}
print("result", json.dumps(report))
