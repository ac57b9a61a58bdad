"""Every method of the folder keeps its contract."""

import pytest

from pipeline import registry
from pipeline.exports.branching import base
from tests.fork_records import branched
from tests.records import accepted, batch, no_draft

RECORDS = [*batch(), branched(), no_draft()]


@pytest.fixture(params=registry.names("branching"))
def method(request):
    return base.load(request.param)


def test_the_folder_holds_the_promised_methods():
    assert set(registry.names("branching")) >= {"cso", "eef", "pivot"}


@pytest.mark.parametrize("name", registry.names("branching"))
def test_docstring_names_the_method_and_its_paper(name):
    text = registry.load("branching", name).__doc__
    assert f"`{name}`" in text
    assert "arXiv" in text


def test_every_state_is_a_turn_of_a_rollout_of_the_final_question(method):
    states = [(record, state) for record in RECORDS for state in method.states(record)]
    assert states
    for record, state in states:
        trajectory = base.by_sample(record)[state.source].rollout.trajectory
        assert state.prefix in {turn.prefix for turn in base.turns(trajectory)}


def test_states_are_deterministic_and_unique(method):
    for record in RECORDS:
        states = list(method.states(record))
        assert states == list(method.states(record)) == list(method.states(record.model_copy(update={"forks": ()})))
        assert len(states) == len(set(states))


def test_a_method_samples_at_least_twice(method):
    assert method.attempts >= 2
    assert list(method.states(accepted()))
