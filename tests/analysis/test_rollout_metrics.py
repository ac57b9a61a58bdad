"""Process figures of rollouts whose course is known."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipeline.agents import grading
from pipeline.analysis import rollout_metrics
from pipeline.analysis.rollout_metrics import FailureKind
from pipeline.text import contains
from pipeline.types import Stop
from tests.records import accepted, draft, passage, rollout, trajectory, verdict, world

W = world(1)
DRAFT = draft(W)


def measure_style(style):
    r = rollout(W, DRAFT, 0, style)
    return rollout_metrics.measure_rollout(DRAFT, r, verdict(W, r, DRAFT))


def make_rollout(*results, answer=W.year):
    """Make a rollout with one search for each list of passages."""
    searches = [(f"query {number}", passages) for number, passages in enumerate(results)]
    searched = trajectory((), searches, ("answer", {"answer": answer}))
    return rollout(W, DRAFT, 0).model_copy(update={"trajectory": searched, "answer": answer})


def test_a_direct_rollout_finds_a_hop_per_step():
    straight = measure_style("right")
    assert straight.found_at == (1, 2, 3)
    assert (straight.steps, straight.useful_steps, straight.hit_step, straight.deviation) == (3, 3, 3, 0)
    assert (straight.hit_rate, straight.efficiency, straight.failure) == (1.0, 1.0, None)


def test_a_repeat_is_no_step_and_lowers_efficiency():
    repeating = measure_style("repeats")
    assert repeating.found_at == (1, 2, 3)
    assert (repeating.steps, repeating.useful_steps) == (3, 3)
    assert repeating.efficiency == pytest.approx(2 * 3 / (3 + 4))


def test_a_shortcut_deviates_and_misses_a_hop():
    lucky = measure_style("lucky")
    assert lucky.found_at == (1, None, 1)
    assert lucky.deviation == 2
    assert lucky.hit_rate == pytest.approx(2 / 3)


def test_a_step_without_new_evidence_is_not_useful():
    r = make_rollout([W.bridge], [W.bridge], [], [W.engineer, W.bridge])
    assert r.trajectory.steps == 4
    assert rollout_metrics.measure_rollout(DRAFT, r, verdict(W, r, DRAFT)).useful_steps == 2


def test_another_passage_that_states_the_same_counts_as_evidence():
    other_source = passage(
        "elsewhere", "Annals of the fells", f"{W.town.title} dates from {W.year}, as its charter says."
    )
    unrelated = passage("unrelated", "Annals of the coast", f"The mole was built in {W.year}.")
    assert grading.find_hop_steps(DRAFT, make_rollout([other_source])) == (None, None, 1)
    assert grading.find_hop_steps(DRAFT, make_rollout([unrelated])) == (None, None, None)


@pytest.mark.parametrize(
    ("answer", "passages", "cause"),
    [
        (W.wrong, [W.bridge, W.engineer], FailureKind.MISSED_EVIDENCE),
        (W.wrong, W.chain, FailureKind.MISREAD),
        (W.town.title, W.chain, FailureKind.PREMATURE),
    ],
)
def test_a_wrong_answer_has_a_computed_cause(answer, passages, cause):
    r = make_rollout(passages, answer=answer)
    wrong = verdict(W, r, DRAFT).model_copy(update={"right": False})
    assert rollout_metrics.find_failure(DRAFT, r, wrong) is cause


def test_right_without_evidence_and_no_answer_are_failures_of_their_own():
    r = make_rollout([W.noise[0]])
    assert rollout_metrics.find_failure(DRAFT, r, verdict(W, r, DRAFT)) is FailureKind.UNSUPPORTED
    silent = rollout(W, DRAFT, 0, "silent")
    assert rollout_metrics.find_failure(DRAFT, silent, verdict(W, silent, DRAFT)) is FailureKind.OUT_OF_BUDGET
    trajectory_stopped = silent.trajectory.model_copy(update={"stop": Stop.FORMAT_ERRORS})
    silent = silent.model_copy(update={"trajectory": trajectory_stopped})
    assert rollout_metrics.find_failure(DRAFT, silent, verdict(W, silent, DRAFT)) is FailureKind.FORMAT


def test_the_rollouts_that_difficulty_is_measured_on_are_measured():
    record = accepted(1)
    assert [r.sample for _, r, _ in rollout_metrics.measured_rollouts(record)] == [100, 101, 102, 103]
    unconfirmed = record.model_copy(update={"confirmation": (), "confirmation_verdicts": ()})
    assert [r.sample for _, r, _ in rollout_metrics.measured_rollouts(unconfirmed)] == [0, 1, 2, 3]


@given(st.text("aAb's’ éß\u0301-_.\n12", max_size=30), st.text("aAb's’ éß\u0301-_.12", max_size=5))
def test_the_quick_check_agrees_with_the_exact_one(text, phrase):
    for haystack in (text, text.encode("ascii", "ignore").decode()):
        assert grading.holds(haystack, phrase) == contains(haystack, phrase)
