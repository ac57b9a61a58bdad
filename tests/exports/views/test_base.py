import pytest

from pipeline.errors import UsageError
from pipeline.exports.trajectories.cleaning import correct_rollouts
from pipeline.exports.views import base
from tests.records import accepted, below_target, failed, measured_in_its_round, rejected


def test_only_accepted_records_are_exported_by_default():
    assert base.is_exported(accepted())
    assert not any(base.is_exported(record) for record in (below_target(), rejected(), failed()))


def test_a_rejected_pair_is_exported_if_its_reason_is_included_and_a_rollout_solved_it():
    assert base.is_exported(below_target(), ("below_target",))
    assert not base.is_exported(below_target(), ("below_range",))
    assert base.is_exported(measured_in_its_round(below_target()), ("below_target",))
    unsolved = rejected(reason="solver_error").model_copy(update={"reason": "below_target"})
    assert not base.is_exported(unsolved, ("below_target",))
    assert not base.is_exported(rejected(), ("below_target",))


def test_correct_rollouts_come_shortest_first():
    correct = list(correct_rollouts(below_target()))
    steps = [verdict.steps for _, verdict in correct]
    assert steps == sorted(steps)
    assert steps[0] == 1
    assert all(verdict.correct and rollout.sample == verdict.sample for rollout, verdict in correct)


def test_an_unknown_view_is_refused_with_the_known_names():
    with pytest.raises(UsageError, match="qa.*sft"):
        base.load("nope")


def test_the_rollouts_of_a_relaxed_pair_are_those_of_its_last_draft():
    record = accepted(1)
    played = record.rounds[-1].model_copy(
        update={"rollouts": record.confirmation, "verdicts": record.confirmation_verdicts}
    )
    gave_up = played.model_copy(update={"index": 9, "draft": None, "rollouts": (), "verdicts": ()})
    relaxed = record.model_copy(
        update={"rounds": (played, gave_up), "confirmation": (), "confirmation_verdicts": (), "reason": "relaxed"}
    )
    assert len(list(correct_rollouts(relaxed))) == sum(v.correct for v in record.confirmation_verdicts) > 0
