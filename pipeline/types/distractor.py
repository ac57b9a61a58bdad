"""Passages that mislead a careless reader of one question, and how rollouts react to them."""

from enum import StrEnum

from pipeline.types.corpus import Passage
from pipeline.types.data import Data, sha256
from pipeline.types.rollout import Rollout, Usage, Verdict

SYNTHETIC = "synthetic-"
"""The prefix of the ids of passages that are not from a corpus. Agents do not see it: they see `Passage.shown_id`."""


class Kind(StrEnum):
    """RAGShaper's four dimensions of distraction (arXiv 2601.08699, Table 1).

    There are other kinds of distractor too: each module of `pipeline.distractors.kinds` is one.
    """

    DOPPELGANGER = "doppelganger"
    """A neighbouring case of the same topic (another year, release or namesake) with another value."""
    FALSE_SHORTCUT = "false_shortcut"
    """A loose claim from the start of a chain to its end that skips the steps between."""
    FRAGMENTED_PUZZLE = "fragmented_puzzle"
    """One of several passages that each state a part, and say which part."""
    SUBJECTIVE_FALLACY = "subjective_fallacy"
    """An opinion, in tone and in words, with one objective error inside it."""


class DistractorCheck(Data):
    """The result of one check of a distractor."""

    name: str
    passed: bool
    detail: str = ""


class Distractor(Data):
    """A passage that was written, altered or taken from the corpus to distract from one question, used or rejected."""

    kind: str
    title: str
    text: str
    hop: int
    """Index of the hop whose search should retrieve it."""
    source_id: str
    """For a written distractor the evidence of the hop; for others the passage of the corpus that it is or was."""
    source_sha256: str
    date: str = ""
    source: str = ""
    """`date` and `source` are those of its source, so that it does not stand out."""
    claim: str
    """The wrong answer of hop `target` that it suggests; a verbatim part of `text`."""
    mark: str
    """The words that limit the claim: a verbatim part of title or text (another year, a part, a guess, an opinion) that
    the source does not contain. Empty if the run asks for outright claims, and for a passage of the corpus."""
    blind: tuple[bool, ...] = ()
    """For each blind reading, whether the reader picked it out as the passage that was written for a test."""
    checks: tuple[DistractorCheck, ...] = ()
    """The checks in order, up to the first that failed."""

    @property
    def target(self) -> int:
        """Return the index of the hop that `claim` answers wrongly: `hop` itself, or the next one for a shortcut."""
        return self.hop + (self.kind == Kind.FALSE_SHORTCUT)

    @property
    def unaltered(self) -> bool:
        """Return whether it is an unchanged passage of the corpus."""
        return sha256(self.text) == self.source_sha256

    @property
    def id(self) -> str:
        """Return the id of its passage: that of the corpus, or a hash of its content."""
        if self.unaltered:
            return self.source_id
        content = f"{self.kind}\n{self.source_id}\n{self.title}\n{self.text}"
        return f"{SYNTHETIC}{sha256(content)[:16]}#0"

    @property
    def reason(self) -> str:
        """Return the name of the check that it failed; empty if it failed none."""
        return next((check.name for check in self.checks if not check.passed), "")

    @property
    def used(self) -> bool:
        """Return whether it passed all checks, so that it is part of the overlay."""
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

    The pair's difficulty and solve rate do not depend on them.
    """

    distractors: tuple[Distractor, ...]
    """Used and rejected distractors, in the order in which they were tried."""
    unwritten: tuple[str, ...] = ()
    """The kind of each attempt for which the writer returned nothing."""
    without_distractors: tuple[Rollout, ...] = ()
    """Rollouts over the index alone."""
    without_distractors_verdicts: tuple[Verdict, ...] = ()
    with_distractors: tuple[Rollout, ...] = ()
    """Rollouts over the index with the overlay: the same samples in the same order."""
    with_distractors_verdicts: tuple[Verdict, ...] = ()
    writer: Usage = Usage()
    reader: Usage = Usage()
    judge: Usage = Usage()
    """The judges' usage in the checks, without that of the verdicts."""
    second: Usage = Usage()
    """The part of `judge` that the second judge used."""

    @property
    def used(self) -> tuple[Distractor, ...]:
        return tuple(distractor for distractor in self.distractors if distractor.used)

    @property
    def verdicts(self) -> tuple[Verdict, ...]:
        return (*self.without_distractors_verdicts, *self.with_distractors_verdicts)

    @property
    def usages(self) -> dict[str, list[Usage]]:
        return {
            "writer": [self.writer],
            "reader": [self.reader],
            "judge": [self.judge, *(verdict.usage for verdict in self.verdicts)],
            "solver": [rollout.trajectory.usage for rollout in (*self.without_distractors, *self.with_distractors)],
        }


class Outcome(StrEnum):
    """The effect of a distractor on a rollout that saw it."""

    MET = "met"
    """The rollout did not cite it, and failed for another reason."""
    RESISTED = "resisted"
    """The rollout did not cite it, and is correct."""
    MISLED = "misled"
    """The rollout cited it, and is not correct."""
    RECOVERED = "recovered"
    """The rollout cited it, and is correct all the same."""


class Encounter(Data):
    """A distractor that a rollout saw."""

    distractor: str
    """The id of the distractor."""
    step: int
    """The first step (from 1) that retrieved it."""
    cited_at: int | None
    """The index of the first message that searched for its claim or answered with it."""
    disproved_at: int | None
    """The first later step that retrieved the hop's evidence, or another passage with the hop's true answer."""
    outcome: Outcome


class TeacherRollout(Data):
    """A rollout of the teacher on a question whose distractors are forced into its searches."""

    rollout: Rollout
    """The rollout over the index with the distractors; it had the tools `search` and `answer` only."""
    verdict: Verdict
    f1: float
    """The token F1 of its answer, as in SQuAD; the best over the aliases."""
    encounters: tuple[Encounter, ...]
    kept: bool
    """Whether models should imitate it, by the settings of the run."""

    @property
    def resisted(self) -> bool:
        """Return whether it saw a distractor, and resisted all that it saw."""
        return bool(self.encounters) and all(e.outcome is Outcome.RESISTED for e in self.encounters)
