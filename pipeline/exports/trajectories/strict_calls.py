"""The measurements of a record as a trainer with a strict parser of calls would make them (`gates.strict_calls`)."""

from collections.abc import Sequence

from pipeline.types import PolicyMeasurement, Record, Rollout, Verdict, correct
from pipeline.types.rollout import least_steps


def fail_repaired_rollouts(record: Record) -> Record:
    """Return the record with each rollout that holds a repaired call as unsolved, or the same object if none does."""
    last = record.last
    rollouts = (*record.confirmation, *(last.rollouts if last else ()))
    policy_rollouts = [rollout for measurement in record.measurements for rollout in measurement.rollouts]
    if not any(rollout.repaired for rollout in (*rollouts, *policy_rollouts)):
        return record
    rounds = tuple(
        past.model_copy(update={"verdicts": _fail_repaired(past.rollouts, past.verdicts)}) if past is last else past
        for past in record.rounds
    )
    return record.model_copy(
        update={
            "rounds": rounds,
            "confirmation_verdicts": _fail_repaired(record.confirmation, record.confirmation_verdicts),
            "measurements": tuple(map(_measure_again, record.measurements)),
        }
    )


def _measure_again(measurement: PolicyMeasurement) -> PolicyMeasurement:
    verdicts = _fail_repaired(measurement.rollouts, measurement.verdicts)
    right = correct(verdicts)
    figures = {"solve_rate": len(right) / len(verdicts) if verdicts else 0.0, "least_steps": least_steps(right)}
    assessment = measurement.assessment.model_copy(update=figures)
    return measurement.model_copy(update={"verdicts": verdicts, "assessment": assessment})


def _fail_repaired(rollouts: Sequence[Rollout], verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    return tuple(
        verdict.model_copy(update={"right": False}) if rollout.repaired else verdict
        for rollout, verdict in zip(rollouts, verdicts, strict=True)
    )
