"""Profiles of the turns of the best rollout."""

import pytest

from pipeline.exports.branching import pivot
from pipeline.exports.branching.base import State
from tests.fork_records import branched, fork
from tests.records import accepted, world

W = world(1)


def make_profile(prefix, *styles):
    record = accepted(1)
    record = record.model_copy(update={"forks": (fork(record, W, (0, prefix), styles, method="pivot"),)})
    return pivot.profiles(record)[prefix]


def test_every_turn_of_the_shortest_clean_rollout_is_asked_about():
    assert list(pivot.states(accepted(1))) == [State(0, prefix) for prefix in (2, 4, 6, 8)]


def test_variance_is_of_the_turn_and_of_the_outcome():
    profile = make_profile(2, "right", "wrong", "right", "wrong")
    assert (profile.tried, profile.turn_pass, profile.outcome_pass) == (4, 1.0, 0.5)
    assert profile.turn_variance == 0.0, "all four returned the bridge's passage"
    assert profile.outcome_variance == pytest.approx(0.25)


def test_a_search_passes_if_it_returns_evidence():
    profile = make_profile(6, "right", "wrong", "wrong", "wrong")
    assert (profile.turn_pass, profile.turn_variance) == (0.25, pytest.approx(0.1875))


def test_an_answer_passes_if_it_is_right():
    assert make_profile(8, "right", "wrong").turn_pass == 0.5


def test_a_branch_without_a_turn_does_not_pass():
    assert make_profile(8, "silent", "right").turn_pass == 0.5


def test_a_turn_without_branches_has_no_profile():
    assert pivot.profiles(accepted(1)) == {}
    assert set(pivot.profiles(branched())) == {2, 6}


def test_a_rollout_that_searches_and_answers_in_one_turn_is_no_example():
    record = accepted(1)
    spoilt = []
    for rollout in (*record.last.rollouts, *record.confirmation):
        *before, last = rollout.trajectory.messages
        mixed_turn = last.model_copy(update={"tool_calls": (before[2].tool_calls[0], *last.tool_calls)})
        trajectory = rollout.trajectory.model_copy(update={"messages": (*before, mixed_turn)})
        spoilt.append(rollout.model_copy(update={"trajectory": trajectory}))
    count = len(record.last.rollouts)
    last_round = record.last.model_copy(update={"rollouts": tuple(spoilt[:count])})
    record = record.model_copy(update={"rounds": (last_round,), "confirmation": tuple(spoilt[count:])})
    assert pivot.best_rollout(record) is None
