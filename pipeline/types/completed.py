"""Optional stages of a record that were completed after its run."""

from pipeline.types.assessment import PolicyMeasurement
from pipeline.types.data import Data
from pipeline.types.distractor import DistractorEval, TeacherRollout
from pipeline.types.rollout import Rollout, Verdict
from pipeline.types.twin import Twin


class CompletedStages(Data):
    """The optional stages of an accepted record after `digsite complete`, stored beside the journal."""

    key: str
    attempt: int
    """Counted from 1; the last attempt counts."""
    distractor_eval: DistractorEval | None
    teacher_rollouts: tuple[TeacherRollout, ...]
    measurements: tuple[PolicyMeasurement, ...] = ()
    twin: Twin | None = None
    again: tuple[Rollout, ...] = ()
    again_verdicts: tuple[Verdict, ...] = ()
    missing: tuple[str, ...]
    """The stages that are still missing after this attempt, as in `Record.missing`."""
