"""Files of questions at the command line: measured, and kept out of what is generated."""

from pathlib import Path

import orjson
import pytest

from tests.cli.conftest import SMALL, Digsite
from tests.exports.published import CORPUS, write_beir, write_form


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "corpus.jsonl"
    path.write_bytes(b"\n".join(map(orjson.dumps, CORPUS)))
    return path


def test_queries_without_answers_measure_recall_only(digsite: Digsite, corpus: Path, tmp_path: Path) -> None:
    output = digsite("measure", corpus, write_beir(tmp_path / "beir"), "--retriever", "bm25", "--out", tmp_path / "out")
    assert (output.code, "only the recall of one search for each question is measured" in output.err) == (0, True)
    assert output.out.splitlines()[-1].split()[:4] == ["all", "1", "bm25", "100.0%"]


def test_ids_of_another_corpus_are_refused_in_one_line(digsite: Digsite, corpus: Path, tmp_path: Path) -> None:
    file = tmp_path / "q.jsonl"
    file.write_text('{"question": "Where?", "answer": "Ilm", "supporting_ids": ["doc2"]}\n')
    output = digsite("measure", corpus, file, "--retriever", "bm25", "--out", tmp_path / "out")
    assert (output.code, output.out, "lacks 1 of 1 documents" in output.err) == (2, "", True)


def test_missing_titles_are_reported_beside_the_recall(digsite: Digsite, corpus: Path, tmp_path: Path) -> None:
    file = tmp_path / "q.json"
    rows = [{"question": f"{title}?", "answer": "Ilm", "supporting_titles": [title]} for title in ("Lake Ilm", "Holm")]
    file.write_bytes(orjson.dumps(rows))
    options = "--retriever", "bm25", "--rollouts", "1", "--out", tmp_path / "out"
    output = digsite("measure", corpus, file, *options)
    assert "recall is measured for 1 of 2 questions: their documents are all in the corpus" in output.err
    assert "recall is measured" not in digsite("measure", corpus, write_form(tmp_path, "2wiki/dev.json"), *options).err


@pytest.mark.slow
def test_generate_drops_a_pair_that_a_benchmark_asks(digsite: Digsite, out: Path, tmp_path: Path) -> None:
    items = digsite("inspect", "tiny", "--out", out, "--json").json["items"]
    key = next(item["key"] for item in items if item["status"] == "accepted")
    draft = digsite("inspect", "tiny", "--out", out, "--item", key, "--json").json["rounds"][-1]["draft"]
    steps = draft["graph"]["steps"]
    facts = [[step["citation"]["title"], 0] for step in steps if "citation" in step]
    row = {"_id": "5a8b", "question": draft["question"], "answer": steps[-1]["answer"], "supporting_facts": facts}
    (tmp_path / "hotpot_dev.json").write_bytes(orjson.dumps([row | {"context": [], "type": "bridge"}]))
    against = "--against", tmp_path / "hotpot_dev.json"
    digsite("generate", "tiny", *SMALL, "--seeds", "8", *against, "--out", tmp_path / "out")
    items_after = digsite("inspect", "tiny", "--out", tmp_path / "out", "--json").json["items"]
    assert {item["key"]: item["reason"] for item in items_after}[key] == "gate:contaminated"
