"""`digsite harden` as a user meets it, with the demo model over a small corpus."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.config import build
from pipeline.run import given_questions
from pipeline.run.given_questions import hardening
from tests.cli.conftest import SMALL, Digsite

FILMS = ("Lantern Bay", "Ada Holm", "Vessby", 1641), ("Copper Moon", "Iven Sarr", "Tolmin", 1702)
MORE = "It was shown in many small halls along the coast, and the crew wrote about it in letters that were kept. " * 4
AT_WORK = (*SMALL, "--no-flow", "--json")


def write_lines(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_bytes(b"".join(orjson.dumps(row, option=orjson.OPT_APPEND_NEWLINE) for row in rows))
    return path


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    rows = []
    for number, (film, person, town, year) in enumerate(FILMS):
        texts = {
            film: f"{film} is a silent drama. It was directed by {person}. {MORE}",
            person: f"{person} was a painter. {person} came from {town}. {MORE}",
            town: f"{town} lies on a river. {town} was founded by monks around {year}. {MORE}",
        }
        rows += [{"id": f"{title}-{number}", "title": title, "text": text} for title, text in texts.items()]
    return write_lines(tmp_path / "films.jsonl", rows)


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    rows: list[dict[str, Any]] = [
        {"question": f"Who directed {film}?", "answer": person, "supporting_ids": [f"{film}-{number}"]}
        for number, (film, person, *_) in enumerate(FILMS)
    ]
    return write_lines(
        tmp_path / "q.jsonl", [*rows, {"question": "Who painted the pier at Vessby?", "answer": "Odd Berg"}]
    )


def read_journal(run: Path) -> list[Any]:
    lines = [
        orjson.loads(line) for file in (run / "journal").glob("*.jsonl") for line in file.read_bytes().splitlines()
    ]
    return sorted((line["record"] for line in lines), key=lambda record: record["key"])


def test_each_question_is_tried_once_and_returned_beside_its_first_wording(
    digsite: Digsite, corpus: Path, questions: Path, tmp_path: Path
) -> None:
    done = digsite("harden", corpus, questions, *AT_WORK, "--out", tmp_path / "out")
    assert done.code == 0, done.err
    assert done.json["planned"] == 3
    rows = [orjson.loads(line) for line in (Path(done.json["run"]) / "hardened.jsonl").read_bytes().splitlines()]
    ends = {row["original_question"]: row["reason"] for row in rows}
    assert ends.pop("Who painted the pier at Vessby?") == "ungrounded"
    assert all(reason != "ungrounded" for reason in ends.values())
    assert [row["question"] for row in rows] == [row["original_question"] for row in rows]
    assert {row["answer"] for row in rows} == {"Ada Holm", "Iven Sarr", None}


def test_a_killed_and_resumed_run_equals_an_uninterrupted_one(
    digsite: Digsite, corpus: Path, questions: Path, tmp_path: Path
) -> None:
    uninterrupted = digsite("harden", corpus, questions, *AT_WORK, "--out", tmp_path / "whole").json["run"]
    for seeds in ("1", "3"):
        parts = digsite("harden", corpus, questions, *AT_WORK, "--out", tmp_path / "parts", "--seeds", seeds).json
        if seeds == "1":  # killed within the only line
            (file,) = (Path(parts["run"]) / "journal").glob("*.jsonl")
            file.write_bytes(file.read_bytes()[:-100])
    assert Path(parts["run"]).name == Path(uninterrupted).name
    assert read_journal(Path(parts["run"])) == read_journal(Path(uninterrupted))
    expected, actual = (Path(run) / "hardened.jsonl" for run in (uninterrupted, parts["run"]))
    assert expected.read_bytes() == actual.read_bytes()


def test_other_questions_are_another_run_and_end_a_resume(
    digsite: Digsite, corpus: Path, questions: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    first = digsite("harden", corpus, questions, *AT_WORK, "--out", out, "--seeds", "1").json["run"]
    moved = questions.rename(tmp_path / "moved.jsonl")
    again = digsite("harden", corpus, moved, *AT_WORK, "--out", out, "--seeds", "1").json["run"]
    assert again == first, "a name is no part of what a run makes"
    write_lines(moved, [{"question": "Who directed Copper Moon?", "answer": "Iven Sarr"}])
    given_questions._read_unchanged.cache_clear()  # as in another process
    refused = digsite("resume", first, "--no-flow")
    assert refused.code == 2
    assert "its questions have changed since the run began" in refused.err
    assert digsite("harden", corpus, moved, *AT_WORK, "--out", out).json["run"] != first


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"question": "Who directed Lantern Bay?"}, "no question has an 'answer'"),
        ({"question": "Is Vessby on a river?", "answer": "yes"}, "no operation gives the answer 'yes' of 'Is Vessby"),
    ],
)
def test_an_unusable_question_is_refused_in_one_line(
    digsite: Digsite, corpus: Path, tmp_path: Path, row: dict[str, str], message: str
) -> None:
    question = row | {"supporting_ids": ["Vessby-0"]}
    output = digsite("harden", corpus, write_lines(tmp_path / "q.jsonl", [question]), "--out", tmp_path / "out")
    assert (output.code, output.err.count("\n")) == (2, 1)
    assert message in output.err


@pytest.mark.parametrize(("pairs", "seeds"), [(29, None), (30, None), (None, 60)])
def test_the_run_ends_with_the_requested_pairs(tmp_path: Path, pairs: int | None, seeds: int | None) -> None:
    file = write_lines(
        tmp_path / "q.jsonl", [{"question": f"Who built mill {n}?", "answer": f"Smith {n}"} for n in range(60)]
    )
    config = hardening(build(values={"runtime": {} if pairs is None else {"pairs": pairs}}), file)
    assert (config.runtime.seeds, config.runtime.max_seeds) == (seeds, None if seeds else 60)


def test_a_test_split_is_refused_before_anything_is_read(
    digsite: Digsite, corpus: Path, questions: Path, tmp_path: Path
) -> None:
    listed = write_lines(tmp_path / "bench.jsonl", [orjson.loads(line) for line in questions.read_bytes().splitlines()])
    refused = digsite("harden", corpus, questions, "--against", listed, "--out", tmp_path / "out")
    assert refused.code == 2
    assert "3 of 3 questions are in a benchmark that no pair may resemble" in refused.err
    assert not (tmp_path / "out").exists()
