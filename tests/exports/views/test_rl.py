"""In every `rl_*` view some rollout can reach the reward, and nothing earns it without an answer."""

import orjson
import pytest

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.config.exports import GateConfig
from pipeline.exports.views import base, rl_openrlhf, rl_search_r1, rl_trl, rl_verifiers, rl_verl_tool
from pipeline.reward import reward
from tests.answer_types import chosen, listed
from tests.exports.views.test_rl_search_r1 import with_draft
from tests.records import accepted

ENVIRONMENT = environment(RunConfig())
OURS = [rl_openrlhf, rl_trl, rl_verifiers]


def make_row(view, record):
    (only_row,) = view.rows(record, ENVIRONMENT)
    return only_row


def make_unscored(record):
    """Make a record whose rollouts all give an answer that only a judge accepts."""
    longer = tuple(r.model_copy(update={"answer": f"possibly {r.answer}"}) for r in record.confirmation)
    last = record.rounds[-1]
    last = last.model_copy(update={"rollouts": tuple(r.model_copy(update={"answer": "so"}) for r in last.rollouts)})
    return record.model_copy(update={"confirmation": longer, "rounds": (last,)})


@pytest.mark.parametrize("view", [*OURS, rl_verl_tool])
def test_a_question_that_no_rollout_would_score_is_left_out(view):
    assert list(view.rows(make_unscored(accepted(1)), ENVIRONMENT)) == []


@pytest.mark.parametrize("view", [*OURS, rl_verl_tool])
@pytest.mark.parametrize("answer", ["1969", "true", "a\u2028b", "nul\x00x", "y" * (1 << 14)])
def test_strange_answers_keep_their_text(view, answer):
    row = make_row(view, with_draft(accepted(1), answer=answer, answer_aliases=(), answer_type="entity"))
    golds = {
        rl_openrlhf: lambda r: orjson.loads(r["label"]),
        rl_trl: lambda r: r["golden_answers"],
        rl_verifiers: lambda r: orjson.loads(r["info"])["golden_answers"],
        rl_verl_tool: lambda r: r["reward_model"]["ground_truth"]["target"],
    }
    assert golds[view](row)[0] == answer


def test_a_list_is_one_gold_text_and_is_left_out_if_only_exact_match_counts():
    gold = '[["Grim"],["Per Dal","Dal"],["Lund"]]'
    record = listed(1)
    assert make_row(rl_trl, record)["golden_answers"] == [gold]
    assert orjson.loads(make_row(rl_openrlhf, record)["label"]) == [gold]
    assert orjson.loads(make_row(rl_verifiers, record)["info"])["golden_answers"] == [gold]
    verl = make_row(rl_verl_tool, record)
    assert (verl["data_source"], verl["reward_model"]["ground_truth"]) == ("digsite", {"target": [gold]})
    assert list(rl_search_r1.rows(record, ENVIRONMENT)) == []
    response = 'so <tool_call>\n{"name": "answer", "arguments": {"answer": "Grim; Lund"}}\n</tool_call>'
    assert reward.compute_score(verl["data_source"], response, verl["reward_model"]["ground_truth"]) == pytest.approx(
        0.8
    )
    assert reward.reward_func([f"P{response}"], ["P"], [make_row(rl_openrlhf, record)["label"]])[
        "rewards"
    ] == pytest.approx(0.8)


def test_the_gold_text_of_a_filter_contains_the_wrong_names_too():
    gold = orjson.loads(make_row(rl_trl, chosen(1))["golden_answers"][0])
    assert gold == {"items": [["South Arch"], ["East Arch"]], "others": [["North Arch"], ["West Arch"]]}
    golds = make_row(rl_verl_tool, chosen(1))["reward_model"]["ground_truth"]
    every = "<answer>North Arch, South Arch, East Arch, West Arch</answer>"
    right = "<answer>South Arch, East Arch</answer>"
    assert [reward.compute_score("digsite", response, golds) for response in (every, right)] == [0.0, 1.0]
    assert list(rl_search_r1.rows(chosen(1), ENVIRONMENT)) == []


@pytest.mark.parametrize("view", [rl_trl, rl_verl_tool])
def test_trainers_with_tools_get_the_environments_own_prompt(view):
    row = make_row(view, accepted(1))
    assert [m["role"] for m in row["prompt"]] == ["system", "user"]
    assert row["prompt"][0]["content"] == ENVIRONMENT.system
    assert row["prompt"][1]["content"] == accepted(1).draft.question


def test_the_reward_reads_answer_tags_too():
    completion = [{"role": "assistant", "content": f"<answer>{accepted(1).draft.answer}</answer>"}]
    assert reward.exact_match([completion], [make_row(rl_trl, accepted(1))["golden_answers"]]) == [1.0]


def test_verl_gets_its_constants():
    row = make_row(rl_verl_tool, accepted(1))
    assert (row["data_source"], row["agent_name"]) == ("digsite", "tool_agent")
    assert row["prompt"][1]["content"] == row["extra_info"]["question"] == accepted(1).draft.question
    assert len({make_row(rl_verl_tool, accepted(n))["extra_info"]["index"] for n in range(20)}) == 20


def test_an_unanswered_prompt_of_openrlhf_scores_nothing():
    row = make_row(rl_openrlhf, accepted(1))
    assert reward.final_answer(row["prompt"][0]["content"]) is None
    for gold in ("and", "Beijing"):
        assert reward.reward_func([row["prompt"][0]["content"]], [""], [f'["{gold}"]'])["rewards"] == 0.0


def test_verifiers_gets_all_other_fields_as_text():
    row = make_row(rl_verifiers, accepted(1))
    assert set(row) == {"question", "answer", "info"}
    assert orjson.loads(row["info"])["golden_answers"][0] == row["answer"]


@pytest.mark.parametrize(("right", "is_taken"), [(0, False), (1, True), (3, True), (4, True)])
def test_every_question_that_a_rollout_solved_is_rewarded(right, is_taken):
    record = accepted(1)
    verdicts = tuple(v.model_copy(update={"right": i < right}) for i, v in enumerate(record.confirmation_verdicts))
    verdicts = tuple(v.model_copy(update={"supported": True}) for v in verdicts)
    record = record.model_copy(update={"confirmation_verdicts": verdicts})
    assert base.is_rewarded(record, GateConfig()) is is_taken
    assert base.is_rewarded(record, GateConfig(solve_rate=(0.2, 1))) is is_taken
