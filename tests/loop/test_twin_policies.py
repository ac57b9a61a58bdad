"""The models to be trained, on the twins of accepted pairs."""

from pipeline.loop.policies import FIRST_SAMPLE
from pipeline.types import NOT_FOUND
from pipeline.types.twin_record import as_record
from tests.loop.twins import Playing, run_with_twin


def test_each_policy_is_measured_on_the_twin_too() -> None:
    cast = Playing()
    # Half of the policy's fresh samples invent an answer.
    cast.answers = lambda sample: "Nils Ferrow" if sample == FIRST_SAMPLE else NOT_FOUND
    record = run_with_twin(cast, "models.policies.mine.model=small")
    assert record.missing == ()
    twin = as_record(record)
    assert twin is not None
    assessment = twin.find_assessment("mine")
    assert assessment is not None
    assert (assessment.model, assessment.rollouts, assessment.solve_rate, assessment.known_tries) == (
        "small",
        2,
        0.5,
        0,
    )
    assert [measurement.closed_book for measurement in twin.measurements] == [None]
    assert twin.hardness_for() == (2, 1.0)
    pair_assessment = record.find_assessment("mine")
    assert pair_assessment is not None
    assert (pair_assessment.rollouts, pair_assessment.solve_rate, pair_assessment.known_tries) == (2, 1.0, 3)
    rollouts = [
        rollout for measurement in (*record.measurements, *twin.measurements) for rollout in measurement.rollouts
    ]
    assert record.usage["policy"].calls == 3 + sum(rollout.trajectory.usage.calls for rollout in rollouts)
