"""FlagEmbedding's own data set reads what recipes/retriever/forms.py writes of the view `retriever`."""

import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

from datasets import load_dataset
from FlagEmbedding.abc.finetune.embedder.AbsDataset import AbsEmbedderTrainDataset

sys.path.insert(0, str(Path(__file__).parents[2]))
from recipes.retriever import forms

SETTINGS = {
    "shuffle_ratio": 0.0, "cache_path": None, "max_example_num_per_dataset": 10**6, "knowledge_distillation": False,
    "train_group_size": 4, "query_instruction_for_retrieval": None, "passage_instruction_for_retrieval": None,
}  # fmt: skip


def main():
    rows = load_dataset(str(Path(sys.argv[1])), "retriever", split="train")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "flag.jsonl"
        forms.flagembedding(rows, path)
        settings = SimpleNamespace(**SETTINGS, train_data=[str(path)])
        examples = AbsEmbedderTrainDataset(settings, tokenizer=None)
        assert len(examples) == len(rows)
        for row, (query, passages, _) in zip(rows, (examples[n] for n in range(len(rows))), strict=True):
            assert query == row["query"]
            assert passages[0] in [f"{passage['title']}\n{passage['text']}" for passage in row["positive_passages"]]
            assert len(passages) == settings.train_group_size
    check = "AbsEmbedderTrainDataset on what recipes/retriever/forms.py writes: every row, its positive first"
    print("result", json.dumps({"view": "retriever", "version": version("FlagEmbedding"), "check": check}))


main()
