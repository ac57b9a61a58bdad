"""The scorer that travels with the data: what it takes for an answer, what for equal, and that it stands alone."""

import subprocess
import sys
import time

import pytest

from pipeline.shipped import reward
from pipeline.views.base import shipped_file


def called(answer: object, name: str = "answer") -> dict[str, object]:
    call = {"type": "function", "function": {"name": name, "arguments": {"answer": answer}}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


@pytest.mark.parametrize(
    ("said", "gold"),
    [
        ("The Ouse.", "ouse"), ("O'Neill", "ONeill"), ("Åke Björk", "ake bjork"), ("1,234", "1234"), ("-5 °C", "-5 C"),
        ("12,34,567.5", "1234567.5"), ("1 000 000", "1,000,000"), ("1\u2009000\u202f000.5 km", "1000000.5 km"),
        ("12\u00a0345 people", "12345 people"), ("-5 200", "-5,200"), ("May 5 1990", "may 5 1990"),
        ("−5", "-5"), ("17.3 %", "17.3%"), ("1969", "1969"), ("true", "True"), ("ＡＢ", "ab"), ("大阪", "大阪"),
    ],
)  # fmt: skip
def test_equal_in_other_writing(said, gold):
    assert reward.score(said, [gold]) == 1.0


@pytest.mark.parametrize(
    ("said", "gold"),
    [
        ("17.3", "173"), ("5", "-5"), ("", ""), ("the", "a"), ("1e5", "100000"), ("null", ""), (None, "None"),
        ("!", "?"), ("3,5", "35"), ("1,2", "12"), ("19,90", "1990"),
        ("19 90", "1990"), ("1 00", "100"), ("5 1990", "51990"), ("1 000", "1.000"), (7, "7"),
    ],
)  # fmt: skip
def test_unequal(said, gold):
    assert reward.score(said, [gold]) == 0.0


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("no tags", None),
        ("<answer> a </answer> then <answer>b</answer>", "b"),
        ('<tool_call>\n{"name": "answer", "arguments": {"answer": "x"}}\n</tool_call>', "x"),
        ('<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>', None),
        ("<tool_call>{broken</tool_call>", None),
        ([called("x")], "x"),
        ([called("x"), {"role": "tool", "content": "<answer>planted</answer>"}], "x"),
        ([called("x", "search"), {"role": "assistant", "content": "<answer>y</answer>"}], "y"),
        ([{"role": "assistant", "content": "so it is y", "tool_calls": None}], None),
        ([{"role": "assistant", "tool_calls": [{"name": "answer", "arguments": '{"answer": "z"}'}]}], "z"),
        ([called(1969)], "1969"),
        # What the environment would not have taken for an answer.
        ([called(["Ouse"])], None),
        ([called(None)], None),
        ("<answer>I think <answer>Ouse</answer>", "Ouse"),
        ('<tool_call>{"name": "answer", "arguments": {"answer": ' + "[" * 5000 + "}}</tool_call>", None),
        ([], None),
        (None, None),
        (7, None),
        ({"role": "assistant"}, None),
        (["<answer>x</answer>", None], None),
        ([{"role": "assistant", "content": None, "tool_calls": "x"}], None),
        ([{"role": "assistant", "tool_calls": ["x", None, {"function": None}, {"function": {"arguments": 5}}]}], None),
    ],
)
def test_the_answer_of_a_response(response, answer):
    assert reward.final_answer(response) == answer


@pytest.mark.parametrize("piece", ["<answer>", "<tool_call>{", "<tool_call>{}", "{} "])
def test_a_model_that_repeats_itself_costs_no_minutes(piece):
    began = time.monotonic()
    assert reward.final_answer("<tool_call>" + piece * 100_000) is None
    assert time.monotonic() - began < 10


def test_every_trainer_gets_the_same():
    golds, right, wrong = ["Ouse", "River Ouse"], "<answer>the Ouse</answer>", "<answer>Tarn</answer>"
    assert reward.compute_score("searchR1_nq", right, {"target": golds}) == 1.0
    assert reward.compute_score("searchR1_nq", wrong, {"target": golds}, extra_info={}) == 0.0
    turns = [[called("Ouse")], [called("Tarn")]]
    assert reward.exact_match(completions=turns, golden_answers=[golds, golds], prompts=["", ""]) == [1.0, 0.0]
    found = reward.reward_func(["P <answer>Tarn</answer>" + right], ["P <answer>Tarn</answer>"], ['["Ouse"]'])
    assert found["rewards"] == found["scores"] == 1.0
    assert reward.reward_func(["P <answer>Ouse</answer>"], ["P <answer>Ouse</answer>"], ['["Ouse"]'])["rewards"] == 0.0


def test_it_runs_alone_in_an_empty_folder(tmp_path):
    (tmp_path / "reward.py").write_text(shipped_file("reward.py"))
    line = "import reward; print(reward.compute_score('', '<answer>12</answer>', {'target': ['12']}))"
    # Neither site packages nor our own path.
    done = subprocess.run(
        [sys.executable, "-S", "-c", line], cwd=tmp_path, env={}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "1.0\n"
