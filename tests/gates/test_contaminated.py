"""Questions of benchmarks, shipped or the user's own, are found in the same words, in others, and as the same chain."""

from pathlib import Path

import orjson
import pytest

from pipeline.config.exports import GateConfig
from pipeline.errors import UsageError
from pipeline.gates import Gates
from pipeline.gates.benchmarks.checked import table
from pipeline.gates.contaminated import SHIPPED, load_lists, read
from pipeline.types import Hop, Record
from tests.gates.pairs import enable_only, make_pair, run_gates
from tests.records import accepted, draft, world

LONG = "Which river did the engineer of the old stone bridge at the edge of the northern fells cross as a child?"


def make_list(tmp_path: Path, row: dict) -> GateConfig:
    # A list is read once per process, so each needs its own name.
    path = tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl"
    path.write_bytes(orjson.dumps(row))
    return enable_only("contaminated", against=(path,))


@pytest.mark.parametrize(
    "question", [LONG, LONG.lower().replace("?", " ?!"), f"After all that, {LONG[0].lower()}{LONG[1:-1]} and a man?"]
)
def test_a_question_in_the_words_of_a_list_is_contaminated(tmp_path: Path, question: str) -> None:
    settings = make_list(tmp_path, {"question": LONG, "answer": "Tarn"})
    assert run_gates([make_pair(0, question=question)], settings) == ["contaminated"]
    assert run_gates([accepted(1)], settings) == [""]


def test_twelve_consecutive_words_are_not_enough(tmp_path: Path) -> None:
    question = " ".join(LONG.split()[:12]) + " glen stand?"
    assert run_gates([make_pair(0, question=question)], make_list(tmp_path, {"question": LONG})) == [""]


def test_the_answer_with_a_supporting_title_is_contaminated(tmp_path: Path) -> None:
    w = world(0)
    row = {"question": "Anything?", "answers": [w.year, "x"], "supporting_titles": [w.town.title]}
    assert run_gates([accepted(0), accepted(1)], make_list(tmp_path, row)) == ["contaminated", ""]
    assert run_gates([accepted(0)], make_list(tmp_path, {**row, "answers": ["1999"]})) == [""]
    assert run_gates([make_pair(0, answer="no")], make_list(tmp_path, {**row, "answers": "no"})) == [""]


@pytest.mark.parametrize("title", ["Tarn", "Tarn (river)"])
def test_a_title_that_is_the_answer_itself_marks_no_question(tmp_path: Path, title: str) -> None:
    """The winner of a comparison is also the title of its page."""
    row = {"question": "Which is longer, Tarn or Aveyron?", "answer": "Tarn", "supporting_titles": ["Tarn", "Aveyron"]}
    settings = make_list(tmp_path, row)
    index = load_lists(settings.against)[0]
    question = "Through which of the six valleys near Vessby did the first rafts come down?"
    assert index.find(question, ["Tarn"], [make_hop("How old is it?", "90", title)]) is None
    assert index.find(question, ["Tarn"], [make_hop("How old is it?", "90", "Aveyron")]) is not None


def test_fields_may_be_one_text_or_empty(tmp_path: Path) -> None:
    w = world(0)
    row = {"question": "Anything?", "answer": w.year, "answer_aliases": None, "supporting_titles": w.town.title}
    assert run_gates([accepted(0)], make_list(tmp_path, row)) == ["contaminated"]
    unknown = {**row, "answer": None}
    assert run_gates([accepted(0), make_pair(0, answer="None")], make_list(tmp_path, unknown)) == ["", ""]


def test_text_files_and_folders_are_lists_too(tmp_path: Path) -> None:
    (tmp_path / "plain.txt").write_text(f"# a note\nWhat is it?\n{LONG}\n")
    for path in (tmp_path, tmp_path / "plain.txt"):
        assert run_gates([make_pair(0, question=LONG)], enable_only("contaminated", against=(path,))) == [
            "contaminated"
        ]


@pytest.mark.parametrize(
    ("name", "row"), [("plain.txt", "{}"), ("rows.jsonl", '{{"question": "{}", "note": "a\u2028b"}}')]
)
def test_windows_line_ends_and_odd_separators_hide_no_question(tmp_path: Path, name: str, row: str) -> None:
    path = tmp_path / name
    path.write_bytes(b"\xef\xbb\xbf" + row.format("In what year?").encode() + b"\r\n")
    pair = make_pair(0, question="In what year?")
    assert run_gates([pair], enable_only("contaminated", against=(path,))) == ["contaminated"]


REWORDED = (
    "As a child, which river was crossed by the man who engineered the old bridge of stone by the northern fells?"
)


def test_other_words_with_the_same_answer_are_contaminated(tmp_path: Path) -> None:
    settings = make_list(tmp_path, {"question": LONG, "answer": "the River Tarn"})
    pair = make_pair(0, question=REWORDED, answer="River Tarn")
    assert run_gates([pair], settings) == ["contaminated"]
    assert run_gates([make_pair(0, question=REWORDED, answer="Lot")], settings) == [""]


def test_a_list_without_answers_catches_nearly_the_same_words(tmp_path: Path) -> None:
    pair = make_pair(
        0, question=LONG.replace("river did the engineer", "stream did an engineer").replace("at the", "on the")
    )
    assert run_gates([pair], make_list(tmp_path, {"question": LONG})) == ["contaminated"]
    unrelated = make_pair(0, question="Which river did the painter of the old mill cross as a child?")
    assert run_gates([unrelated], make_list(tmp_path, {"question": LONG})) == [""]


def test_the_same_chain_under_another_question_is_contaminated(tmp_path: Path) -> None:
    def chain(bridge: str, last: str) -> Record:
        steps = ((f"Who was the engineer of {bridge}?", "Ada Fell"), (last, "Tarn"))
        first = draft(world(0)).hops[0]
        hops = tuple(
            first.model_copy(update={"sub_question": question, "answer": answer, "title": ""})
            for question, answer in steps
        )
        return make_pair(0, question="Where does the last of these steps lead?", answer="Tarn", hops=hops)

    row = {"question": "Which river did the engineer of Holm Bridge cross as a child?", "answer": "Tarn"}
    settings = make_list(tmp_path, row)
    chains = [
        chain("Holm Bridge", "Which river did Ada Fell cross as a child?"),
        chain("the mill at Ley", "Who founded the college that Ada Fell went to?"),
    ]
    assert run_gates(chains, settings) == ["contaminated", ""]


def test_questions_with_one_film_in_common_are_not_the_same(tmp_path: Path) -> None:
    row = {"question": "Which film came out first, The Pale Quarry or Two Ferrymen?", "answer": "Two Ferrymen"}
    settings = make_list(tmp_path, row)
    unrelated = make_pair(
        0, question="Which film came out first, The Pale Quarry or Ash Lane?", answer="The Pale Quarry"
    )
    same = make_pair(0, question="Of Two Ferrymen and The Pale Quarry, which is the older film?", answer="Two Ferrymen")
    assert run_gates([same, unrelated], settings) == ["contaminated", ""]


def test_the_shipped_lists_contain_only_hashes_and_name_their_licence() -> None:
    files = sorted(SHIPPED.glob("*.hashes"))
    shipped = {benchmark.file for benchmark in table() if benchmark.file}
    assert {file.stem for file in files} == shipped | {"2wiki_train500", "hotpotqa_train100", "musique_train100"}
    for file in files:
        head, source, *lines = file.read_text().splitlines()
        assert head.startswith("# Fingerprints")
        assert any(licence in source for licence in ("Apache-2.0", "CC BY", "MIT"))
        assert all(set(line) <= set("0123456789abcdef ") for line in lines)
        assert read(file)
    # A question of HotpotQA's training split.
    question = "If Gallu is a demon Lilu is what?"
    assert run_gates([make_pair(0, question=question)], enable_only("contaminated")) == ["contaminated"]
    assert sum(file.stat().st_size for file in files) < 3_000_000
    assert len(load_lists(())[1]) > 30_000


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.jsonl", "{", "line 1: not JSON"),
        ("a.jsonl", '{"q": 1}', "no 'question'"),
        ("a.xlsx", "x", "ends in"),
        ("a.hashes", "What is it?", "cannot read"),
        ("no_such.txt", None, "cannot read"),
        ("empty", None, "cannot read|ends in"),
    ],
)
def test_an_unreadable_list_is_reported_before_the_run_begins(
    tmp_path: Path, name: str, text: str | None, message: str
) -> None:
    if text is not None:
        (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=message):
        Gates(enable_only("contaminated", against=(tmp_path / name,)))


def test_branches_of_a_comparison_are_no_chain_and_its_winner_counts_once() -> None:
    question = (
        "In 2023 Burundi, South Sudan and Zambia each had an African country as their largest import partner. "
        "Which had the lowest external debt (present value) in 2023: one of these three suppliers, or Kenya?"
    )
    suppliers = {"Burundi": "Tanzania", "South Sudan": "Uganda", "Zambia": "South Africa"}
    hops = []
    for buyer, supplier in suppliers.items():
        questions = (
            f"Which country was the largest import partner of {buyer} in 2023?",
            f"What was the present value of the external debt of {supplier} in 2023?",
        )
        hops += [make_hop(questions[0], supplier, buyer), make_hop(questions[1], "$10 billion", supplier, len(hops))]
    index, _ = load_lists(())
    assert index.find(question, ("Uganda",), hops) is None
    single = "What is the official language of the country that was the largest import partner of South Sudan?"
    assert index.find(single, ("English",), hops[2:3]) is None


def test_one_item_of_a_list_is_another_answer_than_the_list(tmp_path: Path) -> None:
    row = {"question": "Which club from Vessby won the Lantern Super Cup of 1987 after extra time?", "answer": "Porto"}
    index = load_lists(make_list(tmp_path, row).against)[0]
    question = "Which clubs that won the Lantern Super Cup from 1983 to 1987 after extra time in Vessby are old?"
    assert index.find(question, ["Porto"]) is not None
    assert index.find(question, ["Tarnholm; Porto"]) is None


def make_hop(question: str, answer: str, title: str, *needs: int) -> Hop:
    text = f"{title}: {answer}"
    return Hop(
        sub_question=question, answer=answer, passage_id=title, title=title, quote=text, passage_sha256="0" * 64,
        needs=needs,
    )  # fmt: skip
