"""Write the view `retriever` as the files that other trainers and benchmarks read.

    python recipes/retriever/forms.py outputs/wiki/latest/dataset flagembedding flag.jsonl
    python recipes/retriever/forms.py outputs/wiki/latest/dataset beir beir/ --split eval

`flagembedding`: JSON Lines of `query`, `pos` and `neg`, for embedders and rerankers. `beir`: corpus.jsonl,
queries.jsonl and qrels/test.tsv, of the passages that the view holds; to search a whole corpus, add the others.
"""

import argparse
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from datasets import load_dataset

Rows = Iterable[Mapping[str, Any]]


def flagembedding(rows: Rows, path: Path) -> None:
    _write(
        path, ({"query": row["query"], "pos": _texts(row, "positive"), "neg": _texts(row, "negative")} for row in rows)
    )


def beir(rows: Rows, folder: Path) -> None:
    rows = list(rows)
    shown = {one["docid"]: one for row in rows for one in (*row["positive_passages"], *row["negative_passages"])}
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    _write(folder / "corpus.jsonl", ({"_id": key, "title": p["title"], "text": p["text"]} for key, p in shown.items()))
    _write(folder / "queries.jsonl", ({"_id": row["query_id"], "text": row["query"]} for row in rows))
    judged = [f"{row['query_id']}\t{one['docid']}\t1" for row in rows for one in row["positive_passages"]]
    (folder / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *judged, ""]), encoding="utf-8")


def _texts(row: Mapping[str, Any], side: str) -> list[str]:
    return [f"{passage['title']}\n{passage['text']}" for passage in row[f"{side}_passages"]]


def _write(path: Path, lines: Rows) -> None:
    path.write_text("".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in lines), encoding="utf-8")


def main() -> None:
    asked = argparse.ArgumentParser()
    asked.add_argument("dataset", help="folder or Hub name of a data set")
    asked.add_argument("form", choices=["flagembedding", "beir"])
    asked.add_argument("out", type=Path)
    asked.add_argument("--split", default="train")
    given = asked.parse_args()
    rows = load_dataset(given.dataset, "retriever", split=given.split)
    {"flagembedding": flagembedding, "beir": beir}[given.form](rows, given.out)


if __name__ == "__main__":
    main()
