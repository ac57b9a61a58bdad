"""The models to be trained, on the twins of accepted pairs."""

from pipeline.loop.policies import FIRST_SAMPLE
from pipeline.types import NOT_FOUND
from pipeline.types.twin_record import as_record
from tests.loop.test_unanswerable import Playing, run


def test_each_policy_is_measured_on_the_twin_too() -> None:
    cast = Playing()
    # Half of the policy's tries invent an answer: its samples are fresh.
    cast.answers = lambda sample: "Nils Ferrow" if sample == FIRST_SAMPLE else NOT_FOUND
    record = run(cast, "models.policies.mine.model=small")
    assert record.missing == ()
    own = as_record(record)
    assert own is not None
    found = own.find_assessment("mine")
    assert found is not None
    assert (found.model, found.rollouts, found.solve_rate, found.known_tries) == ("small", 2, 0.5, 0)
    assert [one.closed_book for one in own.measurements] == [None]
    assert own.hardness_for() == (2, 1.0)
    pair = record.find_assessment("mine")
    assert pair is not None
    assert (pair.rollouts, pair.solve_rate, pair.known_tries) == (2, 1.0, 3)
    made = [rollout for one in (*record.measurements, *own.measurements) for rollout in one.rollouts]
    assert record.usage["policy"].calls == 3 + sum(rollout.trajectory.usage.calls for rollout in made)
