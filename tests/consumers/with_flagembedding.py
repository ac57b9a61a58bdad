"""FlagEmbedding's own data set reads what recipes/retriever/forms.py writes of the view `retriever`."""

import json
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from types import SimpleNamespace

from datasets import load_dataset
from FlagEmbedding.abc.finetune.embedder.AbsDataset import AbsEmbedderTrainDataset
from tevatron.retriever.dataset import TrainDataset

sys.path.insert(0, str(Path(__file__).parents[2]))
from recipes.retriever import forms

SETTINGS = {
    "shuffle_ratio": 0.0, "cache_path": None, "max_example_num_per_dataset": 10**6, "knowledge_distillation": False,
    "train_group_size": 4, "query_instruction_for_retrieval": None, "passage_instruction_for_retrieval": None,
}  # fmt: skip


def main():
    rows = load_dataset(str(Path(sys.argv[1])), "retriever", split="train")
    with tempfile.TemporaryDirectory() as made:
        path = Path(made) / "flag.jsonl"
        forms.flagembedding(rows, path)
        given = SimpleNamespace(**SETTINGS, train_data=[str(path)])
        examples = AbsEmbedderTrainDataset(given, tokenizer=None)
        assert len(examples) == len(rows)
        for row, (query, passages, _) in zip(rows, (examples[n] for n in range(len(rows))), strict=True):
            assert query == row["query"]
            assert passages[0] in [f"{one['title']}\n{one['text']}" for one in row["positive_passages"]]
            assert len(passages) == given.train_group_size
    told(
        "FlagEmbedding",
        "AbsEmbedderTrainDataset on what recipes/retriever/forms.py writes: every row, its positive first",
    )
    tevatron(rows)


def tevatron(rows):
    given = SimpleNamespace(
        dataset_name=sys.argv[1], dataset_config="retriever", dataset_path=None, dataset_split="train",
        dataset_cache_dir=None, num_proc=1, corpus_name=None, assets_path=None, query_prefix="", passage_prefix="",
        train_group_size=4,
    )  # fmt: skip
    trainer = SimpleNamespace(state=SimpleNamespace(epoch=0), args=SimpleNamespace(seed=0))
    examples = TrainDataset(given, trainer=trainer)
    for row, (query, passages) in zip(rows, (examples[n] for n in range(len(examples))), strict=True):
        assert query[0] == row["query"]
        assert passages[0][0] in [f"{one['title']} {one['text']}" for one in row["positive_passages"]]
        assert len(passages) == given.train_group_size
    told("tevatron", "TrainDataset on the view as it is: every row, its positive first")


def told(package, check):
    print("result", json.dumps({"view": "retriever", "version": f"{package} {version(package)}", "check": check}))


main()
