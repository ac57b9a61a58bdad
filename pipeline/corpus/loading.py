"""A manifest into documents, passages and a fingerprint. Nothing is dropped without being counted."""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import Field

from pipeline.corpus import readers
from pipeline.corpus.manifest import Fields, Manifest
from pipeline.corpus.passages import chunker, passages
from pipeline.corpus.readers.base import Row
from pipeline.errors import CorpusError
from pipeline.types import Data, Document, Passage, sha256

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_BAD_SHARE, _BAD_MOST, _SHOWN = 0.01, 1000, 5
_ID_LENGTH = 512


class Counts(Data):
    """`read == bad + empty + oversized + duplicate + kept`."""

    read: int
    bad: int = 0
    """Rows that are no document; an id used before makes one."""
    empty: int = 0
    oversized: int = 0
    duplicate: int = 0
    """The same text under another id; its title became an alias."""
    kept: int
    passages: int
    characters: int
    skipped: dict[str, int] = Field(default_factory=dict)
    """Files of a folder that no reader takes, by their ending."""

    @property
    def left_out(self) -> str:
        """Documents, in words, by reason; empty where none was."""
        reasons = {"bad": self.bad, "empty": self.empty, "oversized": self.oversized, "duplicate": self.duplicate}
        return ", ".join(f"{count:,} {reason}" for reason, count in reasons.items() if count)


@dataclass(frozen=True)
class Corpus:
    """All of it, in memory. Documents and passages are in the order of the source."""

    manifest: Manifest
    documents: tuple[Document, ...]
    passages: tuple[Passage, ...]
    counts: Counts
    offenders: tuple[str, ...]
    """The first bad rows, one line each."""

    @cached_property
    def fingerprint(self) -> str:
        """Of what was read and how it was cut; neither the order of the source nor its file name matters."""
        rows = sorted(f"{d.id}\0{sha256(chr(0).join((d.stored, *d.aliases)))}" for d in self.documents)
        return sha256("\n".join([f"chunker {chunker(self.documents)}", *rows]))


@dataclass
class _Tally:
    manifest: Manifest
    documents: dict[str, Document] = field(default_factory=dict)
    by_text: dict[bytes, str] = field(default_factory=dict)
    aliases: dict[str, list[str]] = field(default_factory=dict)
    offenders: list[str] = field(default_factory=list)
    names: dict[str, None] = field(default_factory=dict)
    """All fields that any row had."""
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, row: Row) -> None:
        self.counts["read"] += 1
        self.names |= dict.fromkeys(row.values)
        document = None if row.error else _document(row, self.manifest.fields)
        if document is None or isinstance(document, str):
            self._reject(row.place, document or row.error)
        elif not document.text:
            self.counts["empty"] += 1
        elif len(document.stored) > self.manifest.limits.doc_chars:
            self.counts["oversized"] += 1
        elif first := self.by_text.get(key := hashlib.sha256(document.text.encode()).digest()):
            self.counts["duplicate"] += 1
            self.aliases.setdefault(first, []).append(document.title)
        elif document.id in self.documents:
            self._reject(row.place, f"id {document.id!r} was used before, for another text")
        else:
            self.by_text[key] = document.id
            self.documents[document.id] = document

    def _reject(self, place: str, why: str) -> None:
        self.counts["bad"] += 1
        if len(self.offenders) < _SHOWN:
            self.offenders.append(f"{place}: {why[:200]}")
        if self.counts["bad"] > _BAD_MOST:
            self.check()

    def check(self) -> None:
        """Raise CorpusError where too many rows are bad, or none has a field that somebody named."""
        path, fields = self.manifest.path, self.manifest.fields
        bad, read = self.counts["bad"], self.counts["read"]
        if bad > min(_BAD_SHARE * read, _BAD_MOST):
            raise CorpusError(f"{path}: {bad} of {read} rows are not documents: {'; '.join(self.offenders[:3])}")
        usual = {Fields().id, *Fields().title}
        if read and (unknown := sorted({fields.id, *fields.title} - self.names.keys() - usual)):
            raise CorpusError(f"{path}: no row has the field '{unknown[0]}'; there are: {_few(self.names)}")

    def kept(self) -> Iterator[Document]:
        for document in self.documents.values():
            others = dict.fromkeys(t for t in self.aliases.get(document.id, ()) if t != document.title)
            yield document.model_copy(update={"aliases": tuple(others)}) if others else document


def load(manifest: Manifest) -> Corpus:
    """Read the whole corpus. Raises CorpusError, one line that says what to do, where it cannot be used."""
    path = manifest.path
    if manifest.reader != "hf" and not path.exists():
        raise CorpusError(f"{path}: no such file; the manifest of '{manifest.name}' names it")
    if manifest.sha256 and checksum(path) != manifest.sha256:
        raise CorpusError(f"{path}: its sha256 differs from the manifest's; download it again, or correct the manifest")
    tally = _Tally(manifest)
    for row in readers.rows(manifest.reader, path, manifest.limits):
        tally.add(row)
        if tally.counts["read"] > manifest.limits.docs:
            raise CorpusError(f"{path}: more than {manifest.limits.docs} documents; raise limits.docs in its manifest")
    tally.check()
    documents = tuple(tally.kept())
    cut = tuple(passage for document in documents for passage in passages(document))
    if not cut:
        read, empty, large = (tally.counts[name] for name in ("read", "empty", "oversized"))
        rows = f"{read} rows, {empty} of them empty, {large} of more than {manifest.limits.doc_chars:,} characters"
        raise CorpusError(f"{path}: no document in it ({rows if read else 'it is empty'}); give one with text")
    counts = Counts(
        **tally.counts,
        kept=len(documents),
        passages=len(cut),
        characters=sum(len(d.text) for d in documents),
        skipped=readers.skipped(manifest.reader, path),
    )
    return Corpus(manifest, documents, cut, counts, tuple(tally.offenders))


def checksum(path: Path) -> str:
    """sha256 of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _document(row: Row, fields: Fields) -> Document | str:
    """The row as a document, or what is wrong with it. Text is kept as it is but for control characters and NFC."""
    values = row.values
    text = values.get(fields.text)
    if fields.text not in values:
        return f"no field '{fields.text}' (it has: {_few(values)}); name it with --text-field"
    if not isinstance(text, str | None):
        return f"field '{fields.text}' is not text; name it with --text-field"
    key = _whole(values.get(fields.id))
    if not isinstance(key, str | int | None) or len(str(key)) > _ID_LENGTH:
        return f"field '{fields.id}' is not text of at most {_ID_LENGTH} characters or a whole number; try --id-field"
    if odd := [name for name in fields.title if not isinstance(values.get(name), str | int | float | None)]:
        return f"field '{odd[0]}' is not text; name the title with --title-field"
    text = _clean(text or "").strip()
    url = values.get(fields.url)
    return Document(
        id=" ".join(_clean(str(key)).split()) if key not in (None, "") else row.key,
        title=_title(row, fields) or _opening(text),
        text=text,
        url=url if isinstance(url, str) else "",
    )


def _few(names: Iterable[str]) -> str:
    return ", ".join(list(names)[:8])


def _whole(key: Any) -> Any:
    """Whole numbers come as floats where their column has a gap; beyond 2^53 two of them may be one float."""
    return int(key) if isinstance(key, float) and key.is_integer() and abs(key) < 2**53 else key


def _title(row: Row, fields: Fields) -> str:
    parts = [row.values.get(name) for name in fields.title]
    first, *rest = [" ".join(_clean(str(part)).split()) for part in parts if part not in (None, "")] or [""]
    return f"{first} ({', '.join(rest)})" if rest else first


def _opening(text: str) -> str:
    """The first words, for a document without a title."""
    return " ".join(text[:200].split()[:8])[:80]


def _clean(text: str) -> str:
    text = _CONTROL.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    return text if text.isascii() or unicodedata.is_normalized("NFC", text) else unicodedata.normalize("NFC", text)
