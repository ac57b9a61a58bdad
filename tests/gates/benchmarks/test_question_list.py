"""Stand-in files in each benchmark's form: a list that cannot be shipped is checked with one `--against`."""

from pathlib import Path

import orjson
import pytest

from pipeline.errors import UsageError
from pipeline.gates.benchmarks.question_list import read
from pipeline.gates.contaminated import KINDS
from tests.exports.published import ANSWER, ASKED, FORMS, REWORDED, TITLED, write_beir, write_form
from tests.gates.pairs import enable_only, make_pair, run_gates


def test_a_file_in_a_benchmarks_own_form_is_checked(tmp_path: Path) -> None:
    settings = enable_only("contaminated", against=(write_form(tmp_path, "musique_ans_v1.0_dev.jsonl"),))
    same = make_pair(0, question=ASKED, answer="Planted")
    reworded = make_pair(1, question=REWORDED, answer=ANSWER)
    unrelated = make_pair(2, question="Where did the painter of Upper Carrow drown?", answer=ANSWER)
    assert run_gates([same, reworded, unrelated], settings) == ["contaminated", "contaminated", ""]


@pytest.mark.parametrize("name", FORMS)
def test_each_form_gives_its_question_its_answer_first_and_its_titles(tmp_path: Path, name: str) -> None:
    entry, *_ = read(write_form(tmp_path, name))
    assert (entry.question.lower().rstrip("?\n"), entry.answers[0]) == (ASKED.lower().rstrip("?"), ANSWER)
    if name in TITLED:
        assert entry.titles == (["Marrow Ford"] if name == "popqa.tsv" else ["Marrow Ford", "Lake Ilm"])


def test_a_folder_of_files_is_a_list_despite_other_files(tmp_path: Path) -> None:
    for name in FORMS:
        write_form(tmp_path, name)
    (tmp_path / "README.md").write_text("---\n---\n")
    (tmp_path / ".cache").mkdir()
    (tmp_path / ".cache/notes.json").write_text('{"no": "question"}')
    assert run_gates([make_pair(0, question=ASKED)], enable_only("contaminated", against=(tmp_path,))) == [
        "contaminated"
    ]
    assert len(list(read(tmp_path))) == len(FORMS) + 1


def test_the_queries_of_all_splits_of_a_beir_folder_are_a_list(tmp_path: Path) -> None:
    settings = enable_only("contaminated", against=(write_beir(tmp_path / "beir"),))
    pairs = [make_pair(0, question=ASKED), make_pair(1, question="Which town is Upper Carrow?")]
    assert run_gates(pairs, settings) == ["contaminated", "contaminated"]
    assert [(query.question, query.ids) for query in read(tmp_path / "beir", judged=True)] == [(ASKED, ["w1", "w2"])]


@pytest.mark.parametrize(
    ("row", "answers"),
    [
        ({"answer": True}, ["yes"]),
        ({"answer": 1969}, ["1969"]),
        ({"answer": ["", "a", "a"], "golden_answers": None}, ["a"]),
        ({"answer": "[sic] is what it says"}, ["[sic] is what it says"]),
        # A list of items is one answer, and not several spellings of one.
        ({"reward_model": {"ground_truth": {"target": ['[["Rome", "Roma"], ["Paris"]]']}}}, ["Rome; Paris"]),
        ({"golden_answers": ['{"items": [["Rome", "Roma"], ["Paris"]], "others": [["Bonn"]]}']}, ["Rome; Paris"]),
        # numpy writes it so, and Python would join it to one word.
        ({"answers": "['a' 'b']"}, ["['a' 'b']"]),
    ],
)
def test_answers_are_texts(tmp_path: Path, row: dict[str, object], answers: list[str]) -> None:
    (tmp_path / "q.jsonl").write_bytes(orjson.dumps({"question": ASKED, **row}))
    assert next(read(tmp_path / "q.jsonl")).answers == answers


def test_an_encrypted_benchmark_is_refused(tmp_path: Path) -> None:
    (tmp_path / "b.csv").write_text(f"problem,answer,canary\n{'aGVsbG8g' * 9}==,{'d29ybGQ=' * 3},GUID\n")
    with pytest.raises(UsageError, match="encrypted; decrypt"):
        list(read(tmp_path / "b.csv"))


@pytest.mark.parametrize("name", [f"bad{kind}" for kind in KINDS if kind not in (".txt", ".csv", ".tsv")])
def test_a_file_that_is_no_list_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("\x00 no list\n")
    with pytest.raises(UsageError) as raised:
        run_gates([], enable_only("contaminated", against=(tmp_path / name,)))
    assert "\n" not in str(raised.value)
    assert name in str(raised.value)
