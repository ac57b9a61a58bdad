"""Counts the rows of a corpus that were read, and those that were left out and why."""

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from pydantic import Field

from pipeline.corpus.documents import few
from pipeline.corpus.manifest import Fields, Manifest
from pipeline.errors import CorpusError
from pipeline.types import Data

_BAD_SHARE, _BAD_MOST, _SHOWN = 0.01, 1000, 5
_FEW = 8


class RowRead(NamedTuple):
    """A row of the source, without its document."""

    place: str
    fault: str = ""
    """The name of the count that it adds to; empty for a document."""
    why: str = ""
    notes: tuple[str, ...] = ()


class Counts(Data):
    """`read == bad + empty + oversized + duplicate + kept`."""

    read: int
    bad: int = 0
    """Rows that are not documents, or whose id was used before."""
    empty: int = 0
    oversized: int = 0
    duplicate: int = 0
    """The same text under another id; its title became an alias."""
    kept: int
    passages: int
    characters: int
    skipped: dict[str, int] = Field(default_factory=dict)
    """Files of a folder that no reader reads, by suffix."""

    notes: dict[str, int] = Field(default_factory=dict)
    """Remarks on rows that were read, such as `rows have no id ...`, with the number of rows."""

    @property
    def noted(self) -> list[str]:
        return [f"{count:,} {note}" for note, count in self.notes.items()]

    @property
    def left_out(self) -> str:
        """Return the number of left-out rows by reason, as text; empty if there are none."""
        reasons = {"bad": self.bad, "empty": self.empty, "oversized": self.oversized, "duplicate": self.duplicate}
        return ", ".join(f"{count:,} {reason}" for reason, count in reasons.items() if count)


class Tally:
    """Counts rows in the order of the source, and raises CorpusError as soon as too many of them are bad."""

    def __init__(self, manifest: Manifest) -> None:
        self._manifest = manifest
        self.counts, self._notes = Counter[str](), Counter[str]()
        self.offenders = list[str]()
        self._names = dict[str, None]()
        """The fields of any row: the first few, and those that the manifest names."""
        self._named = {manifest.fields.id, *manifest.fields.title} - {""}
        self._kept = {*self._named, *manifest.fields.date, *manifest.fields.source}

    def note(self, names: Iterable[str]) -> None:
        """Note that some rows have these fields."""
        for name in names:
            if name not in self._names and (len(self._names) < _FEW or name in self._kept):
                self._names[name] = None

    def read(self, row: RowRead) -> None:
        self.counts["read"] += 1
        if row.notes:
            self._notes.update(row.notes)
        if row.fault:
            self.leave_out(row)
        limit, path = self._manifest.limits.docs, self._manifest.path
        if self.counts["read"] > limit:
            raise CorpusError(f"{path}: more than {limit} documents; raise limits.docs in its manifest")

    def leave_out(self, row: RowRead) -> None:
        self.counts[row.fault] += 1
        if row.fault == "bad":
            if len(self.offenders) < _SHOWN:
                self.offenders.append(f"{row.place}: {row.why[:200]}")
            if self.counts["bad"] > _BAD_MOST:
                self.check()

    def check(self) -> None:
        """Raise CorpusError if too many rows are bad, or if no row has a field that the manifest names."""
        path = self._manifest.path
        bad, read = self.counts["bad"], self.counts["read"]
        if bad > min(_BAD_SHARE * read, _BAD_MOST):
            raise CorpusError(f"{path}: {bad} of {read} rows are not documents: {'; '.join(self.offenders[:3])}")
        usual, fields = {Fields().id, *Fields().title}, self._manifest.fields
        unknown = sorted(self._named - self._names.keys() - usual)
        for names, default in ((fields.date, Fields().date), (fields.source, Fields().source)):
            unknown += names[:1] if names != default and self._names.keys().isdisjoint(names) else ()
        if read and unknown:
            raise CorpusError(f"{path}: no row has the field '{unknown[0]}'; there are: {few(self._names)}")

    def refuse_empty(self) -> None:
        if not self.counts["passages"]:
            manifest = self._manifest
            read, empty, large = (self.counts[name] for name in ("read", "empty", "oversized"))
            rows = f"{read} rows, {empty} of them empty, {large} of more than {manifest.limits.doc_chars:,} characters"
            raise CorpusError(
                f"{manifest.path}: no document in it ({rows if read else 'it is empty'}); give one with text"
            )

    def build_counts(self, skipped: dict[str, int]) -> Counts:
        return Counts(**self.counts, skipped=skipped, notes=dict(self._notes))
