"""A teacher's rollout among distractors that were forced on it, and how it fared with each; what was made up later."""

from enum import StrEnum

from pipeline.types.data import Data
from pipeline.types.distractor import DistractorEval
from pipeline.types.rollout import Rollout, Verdict


class Outcome(StrEnum):
    """What a distractor that was met did in the end."""

    MET = "met"
    """Nothing that can be told: it was not cited, and the rollout failed for another reason."""
    RESISTED = "resisted"
    """It was never cited, and the rollout is correct."""
    MISLED = "misled"
    """It was cited, and the rollout is not correct."""
    RECOVERED = "recovered"
    """It was cited, and the rollout is correct all the same."""


class Encounter(Data):
    """One distractor that a rollout was shown."""

    distractor: str
    """Its id."""
    step: int
    """The step (from 1) that first brought it."""
    cited_at: int | None
    """The message, by its place in the conversation, that first searched for its claim or answered with it."""
    disproved_at: int | None
    """The first later step that brought the passage which it competes with, or another with its hop's true answer."""
    outcome: Outcome


class TeacherRollout(Data):
    rollout: Rollout
    """Over the index with the question's distractors; `search` and `answer` alone were offered."""
    verdict: Verdict
    f1: float
    """Token F1 of its answer, as SQuAD counts it; the best over the aliases."""
    encounters: tuple[Encounter, ...]
    kept: bool
    """Is it to be imitated, by the rule of the run?"""

    @property
    def resisted(self) -> bool:
        """Did it meet a distractor, and resist every one that it met?"""
        return bool(self.encounters) and all(e.outcome is Outcome.RESISTED for e in self.encounters)


class Completion(Data):
    """What `digsite complete` keeps of one accepted record beside the journal: its optional stages as they are then."""

    key: str
    attempt: int
    """From 1; the last attempt counts."""
    opposition: DistractorEval | None
    lessons: tuple[TeacherRollout, ...]
    missing: tuple[str, ...]
    """As of `Record.missing`: what this attempt did not make up either."""
