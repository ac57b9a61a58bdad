"""What all views for reinforcement learning promise: a reward that can be reached, and none that is had for nothing."""

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


def row(view, record):
    (found,) = view.rows(record, ENVIRONMENT)
    return found


def wrongly_told(record):
    """All of its rollouts give an answer that only a judge accepts."""
    longer = tuple(r.model_copy(update={"answer": f"possibly {r.answer}"}) for r in record.confirmation)
    last = record.rounds[-1]
    last = last.model_copy(update={"rollouts": tuple(r.model_copy(update={"answer": "so"}) for r in last.rollouts)})
    return record.model_copy(update={"confirmation": longer, "rounds": (last,)})


@pytest.mark.parametrize("view", [*OURS, rl_verl_tool])
def test_a_question_none_of_whose_rollouts_would_score_is_left_out(view):
    assert list(view.rows(wrongly_told(accepted(1)), ENVIRONMENT)) == []


@pytest.mark.parametrize("view", [*OURS, rl_verl_tool])
@pytest.mark.parametrize("answer", ["1969", "true", "a\u2028b", "nul\x00x", "y" * (1 << 14)])
def test_strange_answers_keep_their_text(view, answer):
    made = row(view, with_draft(accepted(1), answer=answer, answer_aliases=(), answer_type="entity"))
    golds = {
        rl_openrlhf: lambda r: orjson.loads(r["label"]),
        rl_trl: lambda r: r["golden_answers"],
        rl_verifiers: lambda r: orjson.loads(r["info"])["golden_answers"],
        rl_verl_tool: lambda r: r["reward_model"]["ground_truth"]["target"],
    }
    assert golds[view](made)[0] == answer


def test_a_list_is_one_gold_text_and_is_left_out_where_only_exact_match_counts():
    gold = '[["Grim"],["Per Dal","Dal"],["Lund"]]'
    made = listed(1)
    assert row(rl_trl, made)["golden_answers"] == [gold]
    assert orjson.loads(row(rl_openrlhf, made)["label"]) == [gold]
    assert orjson.loads(row(rl_verifiers, made)["info"])["golden_answers"] == [gold]
    verl = row(rl_verl_tool, made)
    assert (verl["data_source"], verl["reward_model"]["ground_truth"]) == ("digsite_list", {"target": [gold]})
    assert verl["extra_info"]["tools_kwargs"]["search"]["create_kwargs"]["data_source"] == "digsite_list"
    assert list(rl_search_r1.rows(made, ENVIRONMENT)) == []
    said = "so <answer>Grim; Lund</answer>"
    assert reward.compute_score(verl["data_source"], said, verl["reward_model"]["ground_truth"]) == pytest.approx(0.8)
    assert reward.reward_func([f"P{said}"], ["P"], [row(rl_openrlhf, made)["label"]])["rewards"] == pytest.approx(0.8)


def test_of_named_things_the_gold_text_holds_the_others_too():
    gold = orjson.loads(row(rl_trl, chosen(1))["golden_answers"][0])
    assert gold == {"items": [["South Arch"], ["East Arch"]], "others": [["North Arch"], ["West Arch"]]}
    golds = row(rl_verl_tool, chosen(1))["reward_model"]["ground_truth"]
    every = "<answer>North Arch, South Arch, East Arch, West Arch</answer>"
    right = "<answer>South Arch, East Arch</answer>"
    assert [reward.compute_score("digsite_list", said, golds) for said in (every, right)] == [0.0, 1.0]
    assert list(rl_search_r1.rows(chosen(1), ENVIRONMENT)) == []


def test_trl_gets_the_environments_own_prompt():
    made = row(rl_trl, accepted(1))
    assert [m["role"] for m in made["prompt"]] == ["system", "user"]
    assert made["prompt"][0]["content"] == ENVIRONMENT.system
    assert made["prompt"][1]["content"] == accepted(1).draft.question
    said = [{"role": "assistant", "content": f"<answer>{accepted(1).draft.answer}</answer>"}]
    assert reward.exact_match([said], [made["golden_answers"]]) == [1.0]


def test_verl_gets_its_constants_and_the_gold_twice():
    made = row(rl_verl_tool, accepted(1))
    assert (made["data_source"], made["agent_name"]) == ("searchR1_nq", "tool_agent")
    extra = made["extra_info"]
    create = extra["tools_kwargs"]["search"]["create_kwargs"]
    assert extra["need_tools_kwargs"] is True
    assert create["ground_truth"] == made["reward_model"]["ground_truth"]
    assert made["prompt"][1]["content"].endswith(extra["question"])
    assert len({row(rl_verl_tool, accepted(n))["extra_info"]["index"] for n in range(20)}) == 20


def test_an_unanswered_prompt_of_openrlhf_is_worth_nothing():
    made = row(rl_openrlhf, accepted(1))
    assert reward.final_answer(made["prompt"][0]["content"]) is None
    for gold in ("and", "Beijing"):
        assert reward.reward_func([made["prompt"][0]["content"]], [""], [f'["{gold}"]'])["rewards"] == 0.0


def test_verifiers_get_everything_else_as_text():
    made = row(rl_verifiers, accepted(1))
    assert set(made) == {"question", "answer", "info"}
    assert orjson.loads(made["info"])["golden_answers"][0] == made["answer"]


@pytest.mark.parametrize(("right", "taken"), [(0, False), (1, True), (3, True), (4, True)])
def test_every_question_that_a_rollout_solved_is_taken(right, taken):
    record = accepted(1)
    verdicts = tuple(v.model_copy(update={"right": i < right}) for i, v in enumerate(record.confirmation_verdicts))
    verdicts = tuple(v.model_copy(update={"supported": True}) for v in verdicts)
    record = record.model_copy(update={"confirmation_verdicts": verdicts})
    assert base.is_rewarded(record, GateConfig()) is taken
    assert base.is_rewarded(record, GateConfig(solve_rate=(0.2, 1))) is taken
