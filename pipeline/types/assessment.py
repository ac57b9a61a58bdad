"""How hard a question is, and for whom: difficulty ages with the solver that it was measured with."""

from pipeline.types.data import Data
from pipeline.types.rollout import Rollout, Verdict


class Assessment(Data):
    """One solver on one question, over fresh rollouts in one environment."""

    solver: str
    """Its model's name."""
    retriever: str
    k: int
    """Passages per search."""
    rollouts: int
    solve_rate: float
    least_steps: int | None
    """Over the correct rollouts; none where none was correct."""


class Remeasurement(Data):
    """What `digsite remeasure` keeps of one record beside the journal."""

    key: str
    assessment: Assessment
    rollouts: tuple[Rollout, ...]
    verdicts: tuple[Verdict, ...]
