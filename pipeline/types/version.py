"""The versions of a data set: the run of each state of the corpus, and what the next run takes over from it."""

from typing import Literal

from pydantic import Field

from pipeline.types.data import Data, sha256
from pipeline.types.question import Seed

Change = Literal["changed", "gone"]
CARRIED, AGAIN = "#carried-", "#remade-"
"""What the positions in the plan begin with, of carried records and of seeds that are run again. They sort before all
other seeds."""


class DocumentChanges(Data):
    """Numbers of documents that differ between two states of a corpus."""

    added: int
    changed: int
    removed: int
    same: int

    def __str__(self) -> str:
        return f"{self.added:,} added, {self.changed:,} changed, {self.removed:,} removed, {self.same:,} unchanged"


class StalePair(Data):
    """A pair that the next version leaves behind, since a document of its evidence is no longer the same."""

    key: str
    question: str
    documents: dict[str, Change]


class DroppedPair(Data):
    """A pair that a check on the new index refuses, although its evidence is the same."""

    key: str
    question: str
    why: str


class SeedPlace(Data):
    """A seed, by its passage and draw."""

    passage_id: str
    draw: int


class VersionSummary(Data):
    """The row of a version in the table of the card."""

    number: int
    date: str
    """The day on which the version was begun; empty if unknown."""
    tag: str
    """The tag of the version on the Hub."""
    corpus_fingerprint: str
    documents: DocumentChanges | None = None
    """None for the first version, or if the texts of the one before are gone."""
    carried: int = 0
    stale: int = 0
    dropped: dict[str, int] = Field(default_factory=dict)
    """Number of dropped pairs, by reason."""
    solved_again: int = 0
    """Number of carried pairs that were solved again on this version's index."""
    still_hold: int = 0
    remade: int = 0
    """Number of pairs from the seeds of stale and dropped pairs."""
    pairs: int = 0
    """Number of all pairs."""

    def __str__(self) -> str:
        counts = f"{self.carried:,} pairs carried over, {self.stale:,} stale, {sum(self.dropped.values()):,} dropped"
        held = f"; solved again: {self.still_hold:,} of {self.solved_again:,} hold" if self.solved_again else ""
        return f"{counts}{held}"


class Version(Data):
    """`version.json`: what a run took over from the version before. The first version has none."""

    parent: str
    """The folder of the version before, beside this one."""
    summary: VersionSummary
    """The row of this version, without the pairs that its own seeds gave."""
    history: tuple[VersionSummary, ...]
    """All versions before, the first one first."""
    carried: tuple[str, ...] = ()
    """Keys of the carried records, in the order of the plan."""
    stale: tuple[StalePair, ...] = ()
    dropped: tuple[DroppedPair, ...] = ()
    again: tuple[SeedPlace, ...] = ()
    """Seeds to run first: those of stale and dropped pairs."""
    tried: tuple[str, ...] = ()
    """Seeds that ended in a version before (`fingerprint_seed`), and are not paid for again."""

    @property
    def ancestors(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(row.corpus_fingerprint for row in self.history))


def fingerprint_seed(seed: Seed) -> str:
    """Return a short digest of a seed's passage and draw. It does not depend on the rest of the corpus."""
    return sha256(f"{seed.passage.id}\n{seed.passage.sha256}\n{seed.draw}")[:16]
