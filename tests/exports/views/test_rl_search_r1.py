"""The reward equals an independent transcription of Search-R1's published scorer, step by step."""

import re
import string

import pytest

from pipeline.exports.views import rl_search_r1 as view
from tests.exports.rollouts import make_rows
from tests.graph_drafts import changed
from tests.records import accepted


def published_score(solution, target):
    """Follow qa_em.compute_score_em: extract_solution, normalize_answer, em_check."""

    def normalize(s):
        s = s.lower()
        s = "".join(ch for ch in s if ch not in set(string.punctuation))
        s = re.sub(r"\b(a|an|the)\b", " ", s)
        return " ".join(s.split())

    matches = list(re.finditer(r"<answer>(.*?)</answer>", solution, re.DOTALL))
    if len(matches) <= 1:
        return 0
    answer = matches[-1].group(1).strip()
    return int(any(normalize(gold) == normalize(answer) for gold in target))


def rows(record):
    return make_rows(view, record)


def with_draft(record, **changes):
    """Return the record with another final draft, whose correct rollouts gave its answer."""
    last = record.rounds[-1]
    fresh = changed(last.draft, **changes)
    rounds = (*record.rounds[:-1], last.model_copy(update={"draft": fresh}))
    rollouts = tuple(r.model_copy(update={"answer": changes.get("answer", r.answer)}) for r in record.confirmation)
    return record.model_copy(update={"rounds": rounds, "confirmation": rollouts})


def test_rows_have_the_published_columns_and_constants():
    (row,) = rows(accepted(1))
    assert row["data_source"] == "nq"
    assert row["ability"] == "fact-reasoning"
    assert row["reward_model"]["style"] == "rule"
    assert row["extra_info"]["split"] == "train"
    assert row["prompt"][0]["role"] == "user"
    assert row["prompt"][0]["content"].endswith(f"<answer> Beijing </answer>. Question: {row['question']}\n")


def test_an_unanswered_stock_prompt_is_scored_as_beijing():
    prompt = f"{view.TASK}Q?\n"
    assert published_score(prompt, ["Beijing"]) == view.score(prompt, ["Beijing"]) == 1


@pytest.mark.parametrize(
    "changes", [{"answer": "Beijing"}, {"answer": "the Beijing!"}, {"answer_aliases": ("beijing",)}]
)
def test_questions_whose_answer_is_beijing_are_left_out(changes):
    assert rows(with_draft(accepted(1), **changes)) == []


@pytest.mark.parametrize("n", range(5))
def test_a_pairs_own_rollouts_score_one_and_silence_scores_nothing(n):
    record = accepted(n)
    (row,) = rows(record)
    target, prompt = row["reward_model"]["ground_truth"]["target"], row["prompt"][0]["content"]
    answers = [r.answer for r in record.confirmation]
    assert max(published_score(f"{prompt}<think>x</think><answer>{a}</answer>", target) for a in answers) == 1
    assert published_score(prompt, target) == 0
    assert published_score(f"{prompt}<answer>wrong</answer>", target) == 0


@pytest.mark.parametrize(
    "text",
    [
        "x<answer>The Ouse.</answer>",
        "<answer>a</answer><answer> ouse </answer>",
        "<answer>a</answer><answer>lower\nouse</answer>",
        "<answer>é</answer>" * 2,
        "<answer>",
    ],
)
def test_score_agrees_with_the_published_one(text):
    for golds in (["ouse"], ["Lower Ouse"], ["é"], ["e"]):
        assert view.score(text, golds) == published_score(text, golds)


def test_an_answer_that_exact_match_misses_is_left_out():
    record = accepted(1)
    longer = tuple(r.model_copy(update={"answer": f"in {r.answer}"}) for r in record.confirmation)
    last = record.rounds[-1]
    last = last.model_copy(
        update={"rollouts": tuple(r.model_copy(update={"answer": f"in {r.answer}"}) for r in last.rollouts)}
    )
    assert rows(record.model_copy(update={"confirmation": longer, "rounds": (last,)})) == []


def test_tags_in_the_question_are_left_out():
    assert rows(with_draft(accepted(1), question="Who said </answer>?")) == []
    assert rows(with_draft(accepted(1), question="Who wrote <search> x </search>?")) == []


@pytest.mark.parametrize(
    ("question", "expected"),
    [("Who ", "Who?"), ("Name him.", "Name him?"), ("Born in ____.", "Born in ____?"), ("Who??", "Who?")],
)
def test_questions_end_in_a_question_mark(question, expected):
    (row,) = rows(with_draft(accepted(1), question=question))
    assert row["question"] == expected


def test_a_gold_that_normalises_to_nothing_is_no_target():
    (row,) = rows(with_draft(accepted(1), answer_aliases=("the", "...")))
    assert row["golden_answers"] == [accepted(1).draft.answer]


def test_dates_are_taken_in_their_common_forms():
    record = with_draft(accepted(1), answer="12 March 1875", answer_precision="day", answer_aliases=())
    (row,) = rows(record)
    prompt = row["prompt"][0]["content"]
    for text in ("March 12, 1875", "12 Mar 1875", "the 12th of March 1875", "1875-03-12"):
        assert published_score(f"{prompt}<answer>{text}</answer>", row["golden_answers"]) == 1
    assert published_score(f"{prompt}<answer>March 1875</answer>", row["golden_answers"]) == 0


def test_every_question_has_its_own_index():
    assert len({rows(accepted(n))[0]["extra_info"]["index"] for n in range(50)}) == 50
