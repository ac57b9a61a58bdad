import json

import pytest

from recipes.retriever import forms

PASSAGES = [
    {"docid": f"d{n}#0", "title": f"Crossing {n}", "text": f"Built in {1850 + n}.\nStill open."} for n in range(3)
]
ROWS = [
    {
        "query_id": "k-0",
        "query": "Who built “it”?",
        "positive_passages": PASSAGES[:2],
        "negative_passages": PASSAGES[2:],
    },
    {"query_id": "k-1", "query": "When?", "positive_passages": PASSAGES[1:2], "negative_passages": PASSAGES[:1]},
]


@pytest.fixture
def read(tmp_path):
    return lambda name: [json.loads(line) for line in (tmp_path / name).read_text(encoding="utf-8").splitlines()]


def test_flagembedding_reads_texts_by_side(tmp_path, read):
    forms.flagembedding(ROWS, tmp_path / "flag.jsonl")
    first, second = read("flag.jsonl")
    assert first["query"] == "Who built “it”?"
    assert first["pos"] == ["Crossing 0\nBuilt in 1850.\nStill open.", "Crossing 1\nBuilt in 1851.\nStill open."]
    assert second["neg"] == first["pos"][:1]


def test_beir_reads_each_passage_once_and_every_judgement(tmp_path, read):
    forms.beir(ROWS, tmp_path)
    assert [row["_id"] for row in read("corpus.jsonl")] == ["d0#0", "d1#0", "d2#0"]
    assert [row["_id"] for row in read("queries.jsonl")] == ["k-0", "k-1"]
    judged = (tmp_path / "qrels/test.tsv").read_text(encoding="utf-8").splitlines()
    assert judged == ["query-id\tcorpus-id\tscore", "k-0\td0#0\t1", "k-0\td1#0\t1", "k-1\td1#0\t1"]
