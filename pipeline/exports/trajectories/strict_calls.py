"""A record as a trainer with a strict parser of calls would have measured it (`gates.strict_calls`)."""

from collections.abc import Sequence

from pipeline.types import PolicyMeasurement, Record, Rollout, Verdict, correct
from pipeline.types.rollout import least_steps


def strict(record: Record) -> Record:
    """The record with every rollout that holds a repaired call as an unsolved one; the very record where none does."""
    last = record.last
    rollouts = (*record.confirmation, *(last.rollouts if last else ()))
    measured = [rollout for one in record.measurements for rollout in one.rollouts]
    if not any(rollout.repaired for rollout in (*rollouts, *measured)):
        return record
    rounds = tuple(
        past.model_copy(update={"verdicts": _failed(past.rollouts, past.verdicts)}) if past is last else past
        for past in record.rounds
    )
    return record.model_copy(
        update={
            "rounds": rounds,
            "confirmation_verdicts": _failed(record.confirmation, record.confirmation_verdicts),
            "measurements": tuple(map(_measured, record.measurements)),
        }
    )


def _measured(measurement: PolicyMeasurement) -> PolicyMeasurement:
    verdicts = _failed(measurement.rollouts, measurement.verdicts)
    right = correct(verdicts)
    figures = {"solve_rate": len(right) / len(verdicts) if verdicts else 0.0, "least_steps": least_steps(right)}
    assessment = measurement.assessment.model_copy(update=figures)
    return measurement.model_copy(update={"verdicts": verdicts, "assessment": assessment})


def _failed(rollouts: Sequence[Rollout], verdicts: Sequence[Verdict]) -> tuple[Verdict, ...]:
    return tuple(
        verdict.model_copy(update={"right": False}) if rollout.repaired else verdict
        for rollout, verdict in zip(rollouts, verdicts, strict=True)
    )
