"""What was made up of the optional stages of a record after its run."""

from pipeline.types.assessment import PolicyMeasurement
from pipeline.types.data import Data
from pipeline.types.distractor import DistractorEval, TeacherRollout
from pipeline.types.rollout import Rollout, Verdict
from pipeline.types.twin import Twin


class CompletedStages(Data):
    """What `digsite complete` keeps of one accepted record beside the journal: its optional stages as they are then."""

    key: str
    attempt: int
    """From 1; the last attempt counts."""
    distractor_eval: DistractorEval | None
    teacher_rollouts: tuple[TeacherRollout, ...]
    measurements: tuple[PolicyMeasurement, ...] = ()
    twin: Twin | None = None
    again: tuple[Rollout, ...] = ()
    again_verdicts: tuple[Verdict, ...] = ()
    missing: tuple[str, ...]
    """As of `Record.missing`: what is still missing after this attempt."""
