"""The unanswerable twin of an accepted pair.

Its question has one premise changed, so that the corpus does not support it and "not found" is the right answer.
"""

from typing import Literal

from pipeline.reward.abstention import NOT_FOUND
from pipeline.types.assessment import Assessment, PolicyMeasurement
from pipeline.types.data import Data, sha256
from pipeline.types.graph import Graph
from pipeline.types.model_probe import Probe, Searched
from pipeline.types.question import AnswerType, Draft
from pipeline.types.rollout import GradedRollout, Rollout, Usage, Verdict


class ChangedPremise(Data):
    """An attempt: a question with a changed premise, and the checks that it has no answer."""

    question: str
    hop: int
    """Index of the first hop that no longer has an answer."""
    changed_from: str
    """The words of the answerable question that state the premise ..."""
    changed_to: str
    """... and the words of this question that replace them."""
    sub_question: str
    """The new sub-question of that hop."""
    searches: tuple[Searched, ...] = ()
    """The searches for a passage that states the premise, with their hits."""
    state: Literal["", "contradicted", "unstated"] = ""
    """The verdict of a reader of all hits about the premise; empty if no reader was called, or found it stated."""
    cited: tuple[str, ...] = ()
    """Ids of the passages that contradict or state the premise."""
    probes: tuple[Probe, ...] = ()
    """The answers of readers: `absent` (the answer is the state), `oracle`, `alternatives`."""
    rollouts: tuple[Rollout, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    """The verdicts of the rollouts, for which "not found" is right."""
    assessment: Assessment | None = None
    """The assessment of the run's solver, if the attempt is used."""
    outcome: str = ""
    """`used`, or the code of the refusal; empty while a check or a rollout is missing."""
    detail: str = ""
    """The reason of the refusal, in words for the writer."""

    @property
    def graded(self) -> list[GradedRollout]:
        return GradedRollout.join(self.rollouts, self.verdicts)


class Twin(Data):
    """All attempts at the twin of one pair. The last one is the twin if it is `used`."""

    tries: tuple[ChangedPremise, ...] = ()
    unwritten: int = 0
    """The number of attempts for which the writer's output could not be read."""
    writer: Usage = Usage()
    measurements: tuple[PolicyMeasurement, ...] = ()
    """The measurements of each model to be trained on the twin, as in `Record.measurements`, but without a closed book,
    since nobody can know a missing answer from memory."""

    @property
    def used(self) -> ChangedPremise | None:
        return self.tries[-1] if self.tries and self.tries[-1].outcome == "used" else None

    @property
    def pending(self) -> ChangedPremise | None:
        """Return the attempt for which a check or a rollout is missing."""
        return self.tries[-1] if self.tries and not self.tries[-1].outcome else None

    @property
    def refused(self) -> tuple[ChangedPremise, ...]:
        return tuple(attempt for attempt in self.tries if attempt.outcome not in ("", "used"))

    @property
    def usages(self) -> dict[str, list[Usage]]:
        probes = [probe for attempt in self.tries for probe in attempt.probes]
        return {
            "writer": [self.writer],
            "reader": [probe.usage for probe in probes],
            "solver": [rollout.trajectory.usage for attempt in self.tries for rollout in attempt.rollouts],
        }


def twin_key(key: str) -> str:
    return sha256(f"{key}:unanswerable")


def twin_draft(draft: Draft, attempt: ChangedPremise) -> Draft:
    """Return the twin as a draft, whose evidence ends at the first hop without an answer."""
    graph = draft.graph
    step = graph.found[attempt.hop]
    changed = step.model_copy(update={"sub_question": attempt.sub_question, "answer": NOT_FOUND, "answer_aliases": ()})
    return Draft(
        question=attempt.question,
        graph=Graph(steps=(*graph.ancestors(step), changed)),
        answer_type=AnswerType.UNANSWERABLE,
        origin=draft.origin,
    )
