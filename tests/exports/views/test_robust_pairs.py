import orjson

from pipeline.exports.views import robust_pairs
from tests.exports.rollouts import ENVIRONMENT, W, make_rows
from tests.passages import is_synthetic
from tests.records import accepted
from tests.teacher_rollouts import lie, taught, teacher_rollout

FIRST = ("the crossing", [W.bridge, lie(W).passage])


def rows(record):
    return make_rows(robust_pairs, record)


def rows_of(*attempts):
    record = accepted(1)
    assert record.draft
    teacher_rollouts = tuple(
        teacher_rollout(record.draft, W, searches, answer, n) for n, (searches, answer) in enumerate(attempts)
    )
    return rows(record.model_copy(update={"teacher_rollouts": teacher_rollouts}))


def read_arguments(message):
    return orjson.loads(message)["tool_calls"][0]["function"]["arguments"]


def test_a_pair_is_a_believing_and_a_resisting_turn_after_the_same_messages():
    (row,) = rows(taught())
    assert read_arguments(*row["rejected"]) == {"query": "founded 1399"}
    assert read_arguments(*row["chosen"]) == {"query": "the engineer"}
    roles = [orjson.loads(message)["role"] for message in row["prompt"]]
    assert roles == ["system", "user", "assistant", "tool"]
    assert lie(W).passage.shown_id in row["prompt"][-1]
    assert (row["distractor"], row["step"]) == (lie(W).id, 1)


def test_a_completion_has_no_observation_and_no_message_marks_anything_as_synthetic():
    (row,) = rows(taught())
    for side in ("chosen", "rejected"):
        assert [orjson.loads(message)["role"] for message in row[side]] == ["assistant"]
    assert not any(is_synthetic(word) for text in row["prompt"] for word in text.split())


def test_prompt_and_tools_are_the_environments():
    (row,) = rows(taught())
    assert orjson.loads(row["prompt"][0])["content"] == ENVIRONMENT.system
    assert [tool["function"]["name"] for tool in orjson.loads(row["tools"])] == ["search", "open", "answer"]


def test_a_pair_may_differ_at_the_answer():
    (row,) = rows_of(([FIRST], W.year), ([FIRST], "1399"))
    assert (read_arguments(*row["chosen"]), read_arguments(*row["rejected"])) == (
        {"answer": W.year},
        {"answer": "1399"},
    )


def test_a_pair_needs_a_shared_state_an_encounter_and_a_resistance():
    elsewhere = ("another way", [W.bridge, lie(W).passage])
    never = ("the crossing", [W.bridge])
    back = ([FIRST, ("founded 1399", [W.noise[0]])], W.year)
    assert rows_of(([elsewhere], W.year), ([FIRST], "1399")) == []
    assert rows_of(([never], W.year), ([FIRST], "1399")) == []
    assert rows_of(([FIRST], "1850"), ([FIRST], "1399")) == []
    assert rows_of(back, ([FIRST], "1399")) == []
    assert rows(accepted(1)) == []


def test_the_solvers_rollouts_among_distractors_make_pairs_too():
    record = taught().model_copy(update={"teacher_rollouts": ()})
    assert record.draft
    assert record.distractor_eval
    engineer, truth = ("the engineer", [W.engineer]), ("the town", [W.town])
    resisted = teacher_rollout(record.draft, W, [FIRST, engineer, truth], W.year)
    rollouts = (record.distractor_eval.with_distractors[0], resisted.rollout)
    verdicts = (record.distractor_eval.with_distractors_verdicts[0], resisted.verdict)
    evaluation = record.distractor_eval.model_copy(
        update={"with_distractors": rollouts, "with_distractors_verdicts": verdicts}
    )
    (row,) = rows(record.model_copy(update={"distractor_eval": evaluation}))
    assert (read_arguments(*row["chosen"]), read_arguments(*row["rejected"])) == (
        {"query": "the engineer"},
        {"answer": "1399"},
    )


def test_equal_turns_make_one_row():
    assert len(rows_of(([FIRST], W.year), ([FIRST], "1399"), ([FIRST], "1399"))) == 1
