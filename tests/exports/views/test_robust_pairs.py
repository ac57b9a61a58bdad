import orjson

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.exports.views import robust_pairs
from tests.records import accepted, world
from tests.shelf import synthetic
from tests.teacher_rollouts import lie, taught, teacher_rollout

ENVIRONMENT = environment(RunConfig())
W = world(1)
FIRST = ("the crossing", [W.bridge, lie(W).passage])


def rows(record):
    return list(robust_pairs.rows(record, ENVIRONMENT))


def of(*attempts):
    record = accepted(1)
    assert record.draft
    made = tuple(teacher_rollout(record.draft, W, searches, answer, n) for n, (searches, answer) in enumerate(attempts))
    return rows(record.model_copy(update={"teacher_rollouts": made}))


def said(message):
    return orjson.loads(message)["tool_calls"][0]["function"]["arguments"]


def test_the_turn_that_believed_it_and_the_one_that_did_not_after_the_same_messages():
    (row,) = rows(taught())
    assert said(*row["rejected"]) == {"query": "founded 1399"}
    assert said(*row["chosen"]) == {"query": "the engineer"}
    roles = [orjson.loads(message)["role"] for message in row["prompt"]]
    assert roles == ["system", "user", "assistant", "tool"]
    assert lie(W).passage.shown_id in row["prompt"][-1]
    assert (row["distractor"], row["step"]) == (lie(W).id, 1)


def test_a_completion_holds_no_observation_and_no_message_says_what_is_synthetic():
    (row,) = rows(taught())
    for side in ("chosen", "rejected"):
        assert [orjson.loads(message)["role"] for message in row[side]] == ["assistant"]
    assert not any(synthetic(word) for text in row["prompt"] for word in text.split())


def test_prompt_and_tools_are_the_environment_s():
    (row,) = rows(taught())
    assert orjson.loads(row["prompt"][0])["content"] == ENVIRONMENT.system
    assert [tool["function"]["name"] for tool in orjson.loads(row["tools"])] == ["search", "open", "answer"]


def test_the_pair_may_part_at_the_answer():
    (row,) = of(([FIRST], W.year), ([FIRST], "1399"))
    assert (said(*row["chosen"]), said(*row["rejected"])) == ({"answer": W.year}, {"answer": "1399"})


def test_without_a_shared_state_a_meeting_or_a_resistance_there_is_no_pair():
    elsewhere = ("another way", [W.bridge, lie(W).passage])
    never = ("the crossing", [W.bridge])
    back = ([FIRST, ("founded 1399", [W.noise[0]])], W.year)
    assert of(([elsewhere], W.year), ([FIRST], "1399")) == []
    assert of(([never], W.year), ([FIRST], "1399")) == []
    assert of(([FIRST], "1850"), ([FIRST], "1399")) == []
    assert of(back, ([FIRST], "1399")) == []
    assert rows(accepted(1)) == []


def test_the_solver_s_rollouts_over_the_overlay_make_pairs_too():
    record = taught().model_copy(update={"teacher_rollouts": ()})
    assert record.draft
    assert record.distractor_eval
    on, truth = ("the engineer", [W.engineer]), ("the town", [W.town])
    resisted = teacher_rollout(record.draft, W, [FIRST, on, truth], W.year)
    rollouts = (record.distractor_eval.with_distractors[0], resisted.rollout)
    verdicts = (record.distractor_eval.with_distractors_verdicts[0], resisted.verdict)
    tried = record.distractor_eval.model_copy(
        update={"with_distractors": rollouts, "with_distractors_verdicts": verdicts}
    )
    (row,) = rows(record.model_copy(update={"distractor_eval": tried}))
    assert (said(*row["chosen"]), said(*row["rejected"])) == ({"query": "the engineer"}, {"answer": "1399"})


def test_equal_turns_make_one_row():
    assert len(of(([FIRST], W.year), ([FIRST], "1399"), ([FIRST], "1399"))) == 1
