"""Counts the rows of a corpus that were read, and those that were left out and why."""

from collections import Counter
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from pydantic import Field

from pipeline.corpus.documents import few
from pipeline.corpus.manifest import Fields, Manifest
from pipeline.corpus.readers import TEXTS
from pipeline.errors import CorpusError
from pipeline.types import Data

_BAD_SHARE, _BAD_MOST, _SHOWN, _LONGEST_WHY = 0.01, 1000, 5, 400
_BAD_FILES = 0.5
"""The largest share of bad files, where each file is a document: a broken one says nothing about the others."""
_FEW = 8


class RowRead(NamedTuple):
    """A row of the source, without its document."""

    place: str
    fault: str = ""
    """The name of the count that it adds to; empty for a document."""
    why: str = ""
    notes: tuple[str, ...] = ()
    kind: str = ""
    pages: Mapping[str, int] = MappingProxyType({})
    """As in the row of a reader."""


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

    kinds: dict[str, int] = Field(default_factory=dict)
    """Files that were read, by kind, where each file is a document."""

    @property
    def read_by_kind(self) -> str:
        """Return for example `44 RST, 3 PDF`; empty if files are not documents."""
        ranked = sorted(self.kinds.items(), key=lambda kind_count: (-kind_count[1], kind_count[0]))
        return ", ".join(f"{count:,} {kind}" for kind, count in ranked)

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
        self.counts, self._notes, self._kinds = Counter[str](), Counter[str](), Counter[str]()
        self._pages: dict[str, Counter[str]] = {}
        """The number of pages for each remark about pages, by file."""
        self._bad_rows = list[RowRead]()
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
        if row.kind:
            self._kinds[row.kind] += 1
        for note, count in row.pages.items():
            self._pages.setdefault(note, Counter())[row.place] += count
        if row.fault:
            self.leave_out(row)
        limit, path = self._manifest.limits.docs, self._manifest.path
        if self.counts["read"] > limit:
            raise CorpusError(f"{path}: more than {limit} documents; raise limits.docs in the corpus's manifest")

    def leave_out(self, row: RowRead) -> None:
        self.counts[row.fault] += 1
        if row.fault == "bad":
            if len(self._bad_rows) < _SHOWN:
                self._bad_rows.append(row._replace(why=row.why[:_LONGEST_WHY]))
            if self.counts["bad"] > _BAD_MOST:
                self.check()

    def check(self) -> None:
        """Raise CorpusError if too many rows are bad, or if no row has a field that the manifest names."""
        path = self._manifest.path
        bad, read = self.counts["bad"], self.counts["read"]
        if bad > (_BAD_FILES * read if self._manifest.reader in TEXTS else min(_BAD_SHARE * read, _BAD_MOST)):
            raise CorpusError(f"{path}: {bad} of {read} rows are not documents: {self._describe_bad_rows()}")
        usual, fields = {Fields().id, *Fields().title}, self._manifest.fields
        unknown = sorted(self._named - self._names.keys() - usual)
        for names, default in ((fields.date, Fields().date), (fields.source, Fields().source)):
            unknown += names[:1] if names != default and self._names.keys().isdisjoint(names) else ()
        if read and unknown:
            raise CorpusError(f"{path}: no row has the field '{unknown[0]}'; there are: {few(self._names)}")

    @property
    def offenders(self) -> list[str]:
        return [f"{row.place}: {row.why}" for row in self._bad_rows]

    def _describe_bad_rows(self) -> str:
        places: dict[str, list[str]] = {}
        for row in self._bad_rows[:3]:
            places.setdefault(row.why, []).append(row.place)
        return "; ".join(f"{', '.join(rows)}: {why}" for why, rows in places.items())

    def refuse_empty(self) -> None:
        if not self.counts["passages"]:
            manifest = self._manifest
            read, empty, large = (self.counts[name] for name in ("read", "empty", "oversized"))
            rows = f"{read} rows, {empty} of them empty, {large} of more than {manifest.longest:,} characters"
            raise CorpusError(
                f"{manifest.path}: no document in it ({rows if read else 'it is empty'}); give one with text"
            )

    def build_counts(self, skipped: dict[str, int]) -> Counts:
        for note, counts in self._pages.items():
            files = ", ".join(f"{file} ({count:,})" for file, count in counts.most_common(_SHOWN))
            more = f" and {len(counts) - _SHOWN:,} more" if len(counts) > _SHOWN else ""
            self._notes[f"{note}: {files}{more}"] = counts.total()
        return Counts(**self.counts, skipped=skipped, notes=dict(self._notes), kinds=dict(self._kinds))

    @property
    def kinds(self) -> frozenset[str]:
        return frozenset(self._kinds)
