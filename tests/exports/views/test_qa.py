import pytest

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.exports.views import qa
from tests.records import accepted, below_target, measured_in_its_round, world

ENVIRONMENT = environment(RunConfig())

COLUMNS = """id question answer answer_aliases answer_items answer_type answerable twin_of target_steps difficulty
solve_rate hit_step rollouts assessments one_search rounds strategy preset model hops origin corpus
corpus_fingerprint licence as_of language trainable run band steps hop_count distractors order
honest_tries honest_counted adversarial_tries adversarial_right least_steps adversarial_steps adversarial_more_than
reward_steps least_rounds recall_steps operation chance
answer_low answer_high solver_solve_rate policy_solve_rate policy_tries known_to evidence_ids retriever k
measured_by""".split()


def make_row(record):
    (only_row,) = qa.rows(record, ENVIRONMENT)
    return only_row


def test_columns_are_the_published_ones_in_order():
    assert qa.SCHEMA.names == COLUMNS


@pytest.mark.parametrize("measured", [measured_in_its_round, lambda record: record], ids=["now", "older version"])
def test_figures_come_only_from_the_rollouts_that_measure_the_question(measured):
    # One of them took one step. In an older version, those that made it a candidate came before, with three steps.
    only_row = make_row(measured(below_target()))
    assert (only_row["difficulty"], only_row["solve_rate"], only_row["hit_step"], only_row["rollouts"]) == (
        1,
        0.75,
        1,
        4,
    )


def test_rounds_count_revisions():
    assert [make_row(accepted(rounds=n))["rounds"] for n in (1, 3)] == [0, 2]


def test_hops_lead_to_the_answer():
    only_row = make_row(accepted(4))
    assert [hop["title"] for hop in only_row["hops"]] == [p.title for p in world(4).chain]
    assert only_row["hops"][-1]["answer"] == only_row["answer"]
    assert all(hop["answer"] in hop["quote"] for hop in only_row["hops"])
