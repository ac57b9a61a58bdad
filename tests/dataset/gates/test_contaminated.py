"""Questions of benchmarks, shipped ones and the user's own, in their words or with their answer and title."""

from pathlib import Path

import orjson
import pytest

from pipeline.config.gates import GateConfig
from pipeline.dataset.gates import Gates
from pipeline.dataset.gates.contaminated import SHIPPED, lists
from pipeline.errors import UsageError
from tests.dataset.gates.test_gates import having, judged, only
from tests.records import accepted, world

LONG = "Which river did the engineer of the old stone bridge at the edge of the northern fells cross as a child?"


def listed(tmp_path: Path, row: dict) -> GateConfig:
    # A list is read once in a process, so each needs a name of its own.
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"
    path.write_bytes(orjson.dumps(row))
    return only("contaminated", against=(path,))


@pytest.mark.parametrize(
    "question",
    [
        LONG,
        LONG.lower().replace("?", " ?!"),
        f"After all that, {LONG[0].lower()}{LONG[1:-1]} and a man?",
    ],
)
def test_the_words_of_a_listed_question(tmp_path: Path, question: str) -> None:
    settings = listed(tmp_path, {"question": LONG, "answer": "Tarn"})
    assert judged([having(0, question=question)], settings) == ["contaminated"]
    assert judged([accepted(1)], settings) == [""]


def test_twelve_words_on_end_are_not_enough(tmp_path: Path) -> None:
    other = " ".join(LONG.split()[:12]) + " glen stand?"
    assert judged([having(0, question=other)], listed(tmp_path, {"question": LONG})) == [""]


def test_the_answer_with_a_supporting_title(tmp_path: Path) -> None:
    w = world(0)
    row = {"question": "Anything?", "answers": [w.year, "x"], "supporting_titles": [w.town.title]}
    assert judged([accepted(0), accepted(1)], listed(tmp_path, row)) == ["contaminated", ""]
    assert judged([accepted(0)], listed(tmp_path, {**row, "answers": ["1999"]})) == [""]
    assert judged([having(0, answer="no")], listed(tmp_path, {**row, "answers": "no"})) == [""]


def test_fields_may_be_one_text_or_empty(tmp_path: Path) -> None:
    w = world(0)
    row = {"question": "Anything?", "answer": w.year, "answer_aliases": None, "supporting_titles": w.town.title}
    assert judged([accepted(0)], listed(tmp_path, row)) == ["contaminated"]
    unknown = {**row, "answer": None}
    assert judged([accepted(0), having(0, answer="None")], listed(tmp_path, unknown)) == ["", ""]


def test_a_line_ends_at_its_end_alone_and_a_byte_order_mark_is_none_of_it(tmp_path: Path) -> None:
    path = tmp_path / "saved.jsonl"
    path.write_text(f'\ufeff{{"question": "a\u2028b\x85c"}}\r\n{{"question": "{LONG}"}}\r\n', newline="")
    assert judged([having(0, question=LONG)], only("contaminated", against=(path,))) == ["contaminated"]


def test_text_files_and_folders_are_lists_too(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text(f"# a note\nWhat is it?\n{LONG}\n")
    for path in (tmp_path, tmp_path / "plain.txt"):
        assert judged([having(0, question=LONG)], only("contaminated", against=(path,))) == ["contaminated"]


@pytest.mark.parametrize(
    ("name", "row"), [("plain.txt", "{}"), ("rows.jsonl", '{{"question": "{}", "note": "a\u2028b"}}')]
)
def test_marks_of_windows_and_odd_line_separators_hide_no_question(tmp_path: Path, name: str, row: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"\xef\xbb\xbf" + row.format("In what year?").encode() + b"\r\n")
    asked = having(0, question="In what year?")
    assert judged([asked], only("contaminated", against=(path,))) == ["contaminated"]


def test_the_shipped_lists_hold_hashes_alone_and_say_whose_they_are() -> None:
    files = sorted(SHIPPED.glob("*.hashes"))
    assert {file.stem for file in files} == {"2wiki_train500", "hotpotqa_train100", "musique_train100"}
    for file in files:
        head, licence, *marks = file.read_text().splitlines()
        assert head.startswith("# Fingerprints")
        assert "Apache-2.0" in licence or "CC BY" in licence
        assert all(len(mark) == 12 and int(mark, 16) >= 0 for mark in marks)
    # A question of HotpotQA's training split, and its answer with one of its titles.
    question = "If Gallu is a demon Lilu is what?"
    assert judged([having(0, question=question)], only("contaminated")) == ["contaminated"]
    assert len(lists(())) > 3000


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("a.jsonl", "{", "line 1: not JSON"),
        ("a.jsonl", '{"q": 1}', "no 'question'"),
        ("a.csv", "x", "ends in"),
        ("no_such.txt", None, "cannot read"),
        ("empty", None, "cannot read|ends in"),
    ],
)
def test_a_list_that_cannot_be_read_is_told_before_anything_is_dug(
    tmp_path: Path, name: str, text: str | None, told: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=told):
        Gates(only("contaminated", against=(tmp_path / name,)))
