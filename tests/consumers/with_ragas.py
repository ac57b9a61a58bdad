"""Ragas builds its samples from the view, with the question, the answer and the contexts of each row."""

import json
import sys
from importlib.metadata import version
from pathlib import Path

import datasets
from ragas import EvaluationDataset

VIEW = "eval_ragas"
rows = datasets.load_dataset(str(Path(sys.argv[1])), VIEW, split="train")
samples = EvaluationDataset.from_hf_dataset(rows).samples
assert len(samples) == len(rows) > 0
for sample, row in zip(samples, rows, strict=True):
    assert sample.user_input == row["user_input"]
    assert sample.reference == row["reference"]
    assert sample.reference_contexts == row["reference_contexts"]
    assert all(sample.reference_contexts)
report = {"view": VIEW, "version": version("ragas"), "check": "EvaluationDataset.from_hf_dataset on the view as it is"}
print("result", json.dumps(report))
