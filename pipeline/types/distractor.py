"""Passages that mislead a careless reader of one question, and how rollouts fared among them."""

from enum import StrEnum

from pipeline.types.corpus import Passage
from pipeline.types.data import Data, sha256
from pipeline.types.rollout import Rollout, Usage, Verdict

SYNTHETIC = "synthetic-"
"""What ids of passages begin with that are of no corpus. Agents never see it: they see `Passage.shown_id`."""


class Kind(StrEnum):
    """RAGShaper's four dimensions of distraction (arXiv 2601.08699, Table 1). A distractor may be of another kind: each
    module of `pipeline.distractors` is one."""

    DOPPELGANGER = "doppelganger"
    """A neighbouring case of the same topic (another year, release or namesake), which has another value."""
    FALSE_SHORTCUT = "false_shortcut"
    """A loose claim from the start of the chain to an end, past what lies between."""
    FRAGMENTED_PUZZLE = "fragmented_puzzle"
    """One of several passages that each hold a part, and name it."""
    SUBJECTIVE_FALLACY = "subjective_fallacy"
    """An opinion, in tone and in words, with one objective error inside it."""


class DistractorCheck(Data):
    """One thing that a distractor must be, and whether it is."""

    name: str
    passed: bool
    detail: str = ""


class Distractor(Data):
    """One passage of one question's overlay, used or rejected: written, altered, or one of the corpus as it stands."""

    kind: str
    title: str
    text: str
    hop: int
    """Index of the hop whose search is to meet it."""
    source_id: str
    """The passage of the corpus that it is written against, the hop's own; or else the one that it is, or was before it
    was altered."""
    source_sha256: str
    date: str = ""
    source: str = ""
    """Those of the passage that it competes with, as `date`: without them it would stand out."""
    claim: str
    """The wrong answer of hop `target` that it suggests; a verbatim part of `text`."""
    mark: str
    """The words that limit the claim: a verbatim part of title or text (another year, a part, a guess, an opinion) that
    the source does not hold. Empty where the run asks for outright ones, and of a passage of the corpus."""
    blind: tuple[bool, ...] = ()
    """For each blind reading, whether the reader named it as the passage that was written for a test."""
    checks: tuple[DistractorCheck, ...] = ()
    """In the order in which they were made; the first that failed is the last."""

    @property
    def target(self) -> int:
        """Index of the hop that `claim` answers wrongly: `hop` itself, or for a shortcut the next one."""
        return self.hop + (self.kind == Kind.FALSE_SHORTCUT)

    @property
    def unaltered(self) -> bool:
        """Is it the passage of the corpus, of which no word was changed?"""
        return sha256(self.text) == self.source_sha256

    @property
    def id(self) -> str:
        """The id of its passage: that of the corpus, or a hash of what it says, so that the same text is the same
        passage."""
        if self.unaltered:
            return self.source_id
        content = f"{self.kind}\n{self.source_id}\n{self.title}\n{self.text}"
        return f"{SYNTHETIC}{sha256(content)[:16]}#0"

    @property
    def reason(self) -> str:
        """The check that it failed; empty where it is used."""
        return next((check.name for check in self.checks if not check.passed), "")

    @property
    def used(self) -> bool:
        """Did it pass all checks? Only then it stands in the overlay."""
        return bool(self.checks) and not self.reason

    @property
    def passage(self) -> Passage:
        start = len(self.title) + 1
        return Passage(
            id=self.id,
            document_id=self.id.rpartition("#")[0],
            title=self.title,
            text=self.text,
            start=start,
            end=start + len(self.text),
            date=self.date,
            source=self.source,
        )


class DistractorEval(Data):
    """The distractors of an accepted pair, and fresh paired rollouts: the same samples without and with them.

    The pair's difficulty and solve rate rest on none of it.
    """

    distractors: tuple[Distractor, ...]
    """Used and rejected ones, by kind and in the order in which they were tried."""
    unwritten: tuple[str, ...] = ()
    """The kind of every try at which the writer gave nothing."""
    without_distractors: tuple[Rollout, ...] = ()
    """Rollouts over the index alone."""
    without_distractors_verdicts: tuple[Verdict, ...] = ()
    with_distractors: tuple[Rollout, ...] = ()
    """Rollouts over the index with the overlay: the same samples in the same order."""
    with_distractors_verdicts: tuple[Verdict, ...] = ()
    writer: Usage = Usage()
    reader: Usage = Usage()
    judge: Usage = Usage()
    """Of the checks; that of the verdicts is theirs."""
    second: Usage = Usage()
    """Of `judge`, the second one."""

    @property
    def used(self) -> tuple[Distractor, ...]:
        return tuple(distractor for distractor in self.distractors if distractor.used)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return (*self.without_distractors_verdicts, *self.with_distractors_verdicts)

    @property
    def usages(self) -> dict[str, list[Usage]]:
        """By role, of writing, checks and rollouts."""
        return {
            "writer": [self.writer],
            "reader": [self.reader],
            "judge": [self.judge, *(verdict.usage for verdict in self.verdicts)],
            "solver": [rollout.trajectory.usage for rollout in (*self.without_distractors, *self.with_distractors)],
        }


class Outcome(StrEnum):
    """What a distractor that was met did in the end."""

    MET = "met"
    """It was not cited, and the rollout failed for another reason."""
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
    """One attempt of the teacher at a question whose distractors are forced into its searches."""

    rollout: Rollout
    """Over the index with the question's distractors; `search` and `answer` alone were offered."""
    verdict: Verdict
    f1: float
    """Token F1 of its answer, as SQuAD counts it; the best over the aliases."""
    encounters: tuple[Encounter, ...]
    kept: bool
    """Is it to be imitated, by the settings of the run?"""

    @property
    def resisted(self) -> bool:
        """Did it meet a distractor, and resist every one that it met?"""
        return bool(self.encounters) and all(e.outcome is Outcome.RESISTED for e in self.encounters)
