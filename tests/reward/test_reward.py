"""The scorer that is shipped with the data: which text is the answer, and that it stands alone and never raises."""

import ast
import random
import subprocess
import sys
import time
from typing import Any

import pytest

from pipeline.reward import reward, standalone
from tests.reward.completions import NOWHERE, TAGS, draw_honest, draw_hostile, make_call


def make_tool_message(answer: object, name: str = "answer") -> dict[str, Any]:
    call = {"type": "function", "function": {"name": name, "arguments": {"answer": answer}}}
    return {"role": "assistant", "content": "", "tool_calls": [call]}


TOOL = {"role": "tool", "name": "answer", "content": "ok"}


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("no tags", None),
        ("<answer> a </answer> then <answer>b</answer>", "b"),
        ('<tool_call>\n{"name": "answer", "arguments": {"answer": "x"}}\n</tool_call>', "x"),
        ('<tool_call>{"name": "search", "arguments": {"query": "x"}}</tool_call>', None),
        ("<tool_call>{broken</tool_call>", None),
        ([make_tool_message("x")], "x"),
        ([make_tool_message("x"), {"role": "tool", "content": "<answer>planted</answer>"}], "x"),
        ([make_tool_message("x", "search"), {"role": "assistant", "content": "<answer>y</answer>"}], "y"),
        ([{"role": "assistant", "content": "so it is y", "tool_calls": None}], None),
        ([{"role": "assistant", "tool_calls": [{"name": "answer", "arguments": '{"answer": "z"}'}]}], "z"),
        ([make_tool_message(1969)], "1969"),
        # The environment would not have accepted these as answers.
        ([make_tool_message(["Ouse"])], None),
        ([make_tool_message(None)], None),
        ("<answer>I think <answer>Ouse</answer>", "Ouse"),
        ('<tool_call>{"name": "answer", "arguments": {"answer": ' + "[" * 5000 + "}}</tool_call>", None),
        ([], None),
        (None, None),
        (7, None),
        ({"role": "assistant"}, None),
        (["<answer>x</answer>", None], None),
        ([{"role": "assistant", "content": None, "tool_calls": "x"}], None),
        # Only the last message with content counts, and a message that calls another tool answers nothing.
        (
            [
                make_tool_message("x"),
                {"role": "tool", "content": "ok"},
                {"role": "assistant", "content": "<think>\n</think>"},
            ],
            "x",
        ),
        # Closing words after the final call, for trainers that go on.
        ([make_tool_message("x"), TOOL, {"role": "assistant", "content": "So it is x."}], "x"),
        (
            [make_tool_message("x"), TOOL, {"role": "assistant", "content": "<think>y</think> No: <answer>y</answer>"}],
            "y",
        ),
        ([make_tool_message("x"), {"role": "assistant", "content": "So it is x."}], None),
        (
            [
                make_tool_message("x"),
                TOOL,
                make_tool_message("x", "search"),
                TOOL,
                {"role": "assistant", "content": "So it is x."},
            ],
            None,
        ),
        ([make_tool_message("x"), TOOL, make_tool_message("x", "search")], None),
        (
            [
                {
                    "role": "assistant",
                    "tool_calls": [
                        *make_tool_message("x")["tool_calls"],
                        *make_tool_message("q", "search")["tool_calls"],
                    ],
                },
                TOOL,
                TOOL,
                {"role": "assistant", "content": "So it is x."},
            ],
            None,
        ),
        ([TOOL, {"role": "assistant", "content": "So it is x."}], None),
        ([make_tool_message("x"), {"role": "user", "content": "Sure?"}, {"role": "assistant", "content": "No."}], None),
        ([make_tool_message("x", "search") | {"content": "<answer>y</answer>"}], None),
        ([{"role": "assistant", "content": [{"type": "text", "text": "<answer>y</answer>"}]}], "y"),
        ([{"role": "assistant", "content": [{"type": "thinking", "text": "<answer>y</answer>"}]}], None),
        (
            [
                {
                    "role": "assistant",
                    "tool_calls": [*make_tool_message("x")["tool_calls"], *make_tool_message("y")["tool_calls"]],
                }
            ],
            None,
        ),
        ([{"role": "assistant", "tool_calls": ["x", None, {"function": None}, {"function": {"arguments": 5}}]}], None),
    ],
)
def test_the_answer_of_a_response(response, answer):
    assert reward.final_answer(response) == answer


@pytest.mark.parametrize("where", NOWHERE)
@pytest.mark.parametrize("tagged", [TAGS.format("Ouse"), make_call("Ouse")])
def test_an_answer_in_reasoning_or_tool_output_does_not_count(where, tagged):
    assert reward.final_answer(where.replace("@", tagged)) is None


def test_a_thousand_hostile_completions_score_nothing():
    drawn = [draw_hostile(seed) for seed in range(1000)]
    assert [pair for pair in drawn if reward.exact_match([pair[0]], [pair[1]]) != [0.0]] == []


def test_at_most_twenty_of_a_thousand_honest_completions_are_missed():
    drawn = [draw_honest(seed) for seed in range(1000)]
    assert len([pair for pair in drawn if reward.exact_match([pair[0]], [pair[1]]) != [1.0]]) <= 20


PIECES = [
    "<answer>", "<tool_call>{", "<tool_call>{}", "{} ", "<think>", "</think>", "<x>", "<x></x>", "<", "< ", "<a ",
    "<|", "<" + "a" * 999,
    "<|im_start|>assistant\n", "user:\n", " ", "#\n", "\n", "<answer>x</answer>", "thought:", "thought\n",
    '<tool_call>{"name": "answer"',
    "1 000 ", "1,", "1.", "123.", "123'", "1", "\u200b", "e\u0301", "-", "a,", "a+", "\ufdfa", "1/", "²",
]  # fmt: skip


@pytest.mark.parametrize("target", [["Ouse", "12 km", "12"]])
@pytest.mark.parametrize("piece", [*PIECES, ", "])
def test_100_kilobytes_of_hostile_text_are_scored_quickly(piece, target):
    text = (piece * 100_000)[:100_000]

    def cost() -> float:
        began = time.process_time()
        reward.compute_score("", f"{text}<answer>{text}</answer>"[-100_000:], {"target": target})
        return time.process_time() - began

    assert any(cost() < 0.1 for _ in range(3))  # retried, since other tests may slow it down


def test_the_scorer_never_raises():
    chance = random.Random(0)
    marks = [*PIECES, *"</tool_call> </answer> <|im_end|> \ud800 \x00 12 Ouse [INST] assistantfinal ◁think▷".split(" ")]
    odd_message = {"role": "assistant", "content": 5, "tool_calls": {"a": 1}}
    things = [None, 7, [], {}, [None], [{}], {"role": "assistant"}, [odd_message], b"x"]
    texts = ["".join(chance.choices(marks, k=chance.randrange(12))) for _ in range(500)]
    for response in [*things, *texts]:
        for golds in [*things, "12", ["12", None, 5], {"target": None}, {"target": "12"}, [chance.choice(texts)]]:
            assert reward.compute_score(None, response, golds) in (0.0, 1.0)
    labels: list[object] = [*things, "{", "[" * 9999, "12", *texts[:50]]
    for label in labels:
        assert reward.reward_func(["<answer>Tarn</answer>"], [""], [label])["rewards"] == 0.0


def test_every_trainer_gets_the_same_reward():
    golds, right, wrong = ["Ouse", "River Ouse"], "<answer>the Ouse</answer>", "<answer>Tarn</answer>"
    assert reward.compute_score("searchR1_nq", right, {"target": golds}) == 1.0
    assert reward.compute_score("searchR1_nq", wrong, {"target": golds}, extra_info={}) == 0.0
    turns = [[make_tool_message("Ouse")], [make_tool_message("Tarn")]]
    assert reward.exact_match(completions=turns, golden_answers=[golds, golds], prompts=["", ""]) == [1.0, 0.0]
    result = reward.reward_func(["P <answer>Tarn</answer>" + right], ["P <answer>Tarn</answer>"], ['["Ouse"]'])
    assert result["rewards"] == result["scores"] == 1.0
    assert reward.reward_func(["P <answer>Ouse</answer>"], ["P <answer>Ouse</answer>"], ['["Ouse"]'])["rewards"] == 0.0
    # A template that ends in <think> has opened the reasoning that the response continues.
    for response, worth in ((right, 0.0), (f"so </think>{right}", 1.0)):
        assert reward.reward_func([f"P<think>\n{response}"], ["P<think>\n"], ['["Ouse"]'])["rewards"] == worth
    assert reward.compute_score("nq", right, {"target": "Ouse"}) == 1.0
    assert reward.compute_score("nq", "<answer>O</answer>", {"target": "Ouse"}) == 0.0


LIST = ['[["Olaf Grim","Grim"],["Crosby, Stills and Nash"],["12 March 1875"]]']


@pytest.mark.parametrize(
    ("answer", "worth"),
    [
        ("Olaf Grim; Crosby, Stills and Nash; 12 March 1875", 1.0),
        ("March 12, 1875, Grim, and Crosby, Stills and Nash", 1.0),
        ("1. Crosby, Stills and Nash\n2. Grim\n3. 1875-03-12", 1.0),
        ('["Grim", "Crosby, Stills and Nash", "12 March 1875"]', 1.0),
        ("Grim、Crosby, Stills and Nash；12 March 1875", 1.0),
        ("Grim; Olaf Grim; GRIM", 0.5),
        ("Grim; Crosby, Stills and Nash", 0.8),
        ("Grim and Per Dal", 0.4),
        ("Crosby", 0.0),
        ("Grim or Crosby, Stills and Nash or 12 March 1875", 0.0),
        ("", 0.0),
        ("[" * 9000, 0.0),
    ],
)
def test_the_reward_of_a_list_is_the_f1_of_its_items(answer: str, worth: float) -> None:
    assert reward.score(answer, LIST) == pytest.approx(worth)
    assert reward.compute_score("", f"<answer>{answer}</answer>", {"target": LIST}) == pytest.approx(worth)


def test_listing_everything_scores_nothing() -> None:
    right = "Grim; Crosby, Stills and Nash; 12 March 1875"
    assert reward.score(right + "; a; b; c", LIST) == pytest.approx(2 / 3)
    for many in (4, 60, 500, 5000):
        for between in ("; ", ", ", " and ", "\n"):
            answer = between.join([*(f"Name {n}" for n in range(many)), *right.split("; ")])
            began = time.perf_counter()
            assert reward.score(answer, LIST) == 0.0, (many, between)
            assert time.perf_counter() - began < 1


LIMITS = ["20", '{"from":"58/3","to":"20.7","unit":""}']
SHARE = ["20 %", '{"from":"19.5","to":"20.5","unit":"%"}']


@pytest.mark.parametrize(
    ("answer", "golds", "worth"),
    [
        ("20", LIMITS, 1.0), ("about 19.4", LIMITS, 1.0), ("19.3", LIMITS, 0.0), ("20.8", LIMITS, 0.0),
        ("twenty", LIMITS, 1.0), ("some", LIMITS, 0.0), ("20.2 %", SHARE, 1.0), ("20.2", SHARE, 1.0),
        ("21 percent", SHARE, 0.0),
    ],
)  # fmt: skip
def test_a_computed_number_is_right_within_its_limits(answer: str, golds: list[str], worth: float) -> None:
    assert reward.score(answer, golds) == worth


def test_a_box_around_a_refusal_does_not_count() -> None:
    answers = ("not found", "\\boxed{not found}", "$\\boxed{\\text{No answer}}$", "\\boxed{Paris}")
    assert [reward.score(answer, ["not found"]) for answer in answers] == [1.0, 1.0, 1.0, 0.0]


@pytest.mark.parametrize(
    ("answer", "gold", "worth"),
    [
        ("Yes", "yes", 1.0), ("Ja.", "yes", 1.0), ("是", "yes", 1.0), ("**Oui**", "yes", 1.0), ("non", "no", 1.0),
        ("no", "yes", 0.0), ("yes and no", "yes", 0.0), ("yes no", "no", 0.0), ("yes/no", "yes", 0.0),
        ("yes, no", "no", 0.0), ("maybe", "no", 0.0), ("not yes", "yes", 0.0), ("", "no", 0.0),
        ("y" * 10**6, "yes", 0.0),
    ],
)  # fmt: skip
def test_yes_and_no_are_understood_alone_in_any_language(answer: str, gold: str, worth: float) -> None:
    assert reward.score(answer, [gold]) == worth


def test_no_name_is_defined_in_two_parts_of_the_scorer():
    bound = [
        n for node in ast.parse(standalone("reward.py")).body if isinstance(node, ast.Assign) for n in ast.walk(node)
    ]
    names = [n.id for n in bound if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id.isupper()]
    assert len(names) == len(set(names)) > 20


def test_the_scorer_runs_alone_in_an_empty_folder(tmp_path):
    (tmp_path / "reward.py").write_text(standalone("reward.py"))
    line = "import reward; print(reward.compute_score('', '<answer>Lyon, France</answer>', {'target': ['Lyon']}))"
    # Without site packages and our own path.
    done = subprocess.run(
        [sys.executable, "-S", "-c", line], cwd=tmp_path, env={}, capture_output=True, text=True, check=True
    )
    assert done.stdout == "1.0\n"
