"""The unanswerable twin of an accepted pair: its question with one premise changed into one that the corpus does not
bear out, so that "not found" is the right answer."""

from typing import Literal

from pipeline.reward.abstention import NOT_FOUND
from pipeline.types.assessment import Assessment, PolicyMeasurement
from pipeline.types.data import Data, sha256
from pipeline.types.graph import Graph
from pipeline.types.model_probe import Probe, Searched
from pipeline.types.question import AnswerType, Draft
from pipeline.types.rollout import Rollout, Usage, Verdict


class ChangedPremise(Data):
    """One try: a question with a changed premise, and how far it was found to have no answer."""

    question: str
    hop: int
    """Index of the first hop that has no answer any more."""
    changed_from: str
    """The words of the answerable question that state the premise ..."""
    changed_to: str
    """... and those of this one that take their place."""
    sub_question: str
    """What that hop asks now."""
    searches: tuple[Searched, ...] = ()
    """What was searched to verify that nothing states it, with all that was found."""
    state: Literal["", "contradicted", "unstated"] = ""
    """What a reader of all that was found says of the premise; empty where none was asked, or found it stated."""
    cited: tuple[str, ...] = ()
    """Ids of the passages by which a premise is contradicted, or stated."""
    probes: tuple[Probe, ...] = ()
    """What readers said of it: `absent` (the answer is the state), `oracle`, `alternatives`."""
    rollouts: tuple[Rollout, ...] = ()
    verdicts: tuple[Verdict, ...] = ()
    """"Not found" is right."""
    assessment: Assessment | None = None
    """Where it is used: how the run's solver did."""
    outcome: str = ""
    """`used`, or the code of why it was refused; empty while a check or a rollout is still missing."""
    detail: str = ""
    """Why it was refused, in words that the writer is told."""


class Twin(Data):
    """All tries at the twin of one pair: the last one is its twin where it is `used`."""

    tries: tuple[ChangedPremise, ...] = ()
    unwritten: int = 0
    """Tries at which the writer gave nothing that can be read."""
    writer: Usage = Usage()
    measurements: tuple[PolicyMeasurement, ...] = ()
    """How each model to be trained does on the twin, as `Record.measurements` of its pair; none of it is from memory,
    since nobody knows what has no answer."""

    @property
    def used(self) -> ChangedPremise | None:
        return self.tries[-1] if self.tries and self.tries[-1].outcome == "used" else None

    @property
    def pending(self) -> ChangedPremise | None:
        """The try that still lacks a check or a rollout."""
        return self.tries[-1] if self.tries and not self.tries[-1].outcome else None

    @property
    def refused(self) -> tuple[ChangedPremise, ...]:
        return tuple(tried for tried in self.tries if tried.outcome not in ("", "used"))

    @property
    def usages(self) -> dict[str, list[Usage]]:
        """By role, of writing, checks and rollouts; `measurements` have their own."""
        probes = [probe for tried in self.tries for probe in tried.probes]
        return {
            "writer": [self.writer],
            "reader": [probe.usage for probe in probes],
            "solver": [rollout.trajectory.usage for tried in self.tries for rollout in tried.rollouts],
        }


def twin_key(key: str) -> str:
    """The id of the twin of the pair with that key: of the same shape, and of no other pair."""
    return sha256(f"{key}:unanswerable")


def twin_draft(draft: Draft, tried: ChangedPremise) -> Draft:
    """Return the twin as a draft, whose evidence ends at the first hop without an answer."""
    graph = draft.graph
    miss = graph.found[tried.hop]
    changed = miss.model_copy(update={"sub_question": tried.sub_question, "answer": NOT_FOUND, "answer_aliases": ()})
    return Draft(
        question=tried.question,
        graph=Graph(steps=(*graph.ancestors(miss), changed)),
        answer_type=AnswerType.UNANSWERABLE,
        origin=draft.origin,
    )
