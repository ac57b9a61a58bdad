"""A prepared corpus: opened in no time whatever its size, and read a document at a time.

Nothing here holds an object per passage. What is asked for by its place or id is read from files that are mapped; what
goes through all of it reads them in the order of the source.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import orjson
import pyarrow as pa
from pydantic import ValidationError

from pipeline.corpus import parts
from pipeline.corpus.cutting import passage
from pipeline.corpus.hashes import Hashes, Rows, hash_text, places
from pipeline.corpus.language import UNKNOWN, detected
from pipeline.corpus.manifest import Manifest
from pipeline.corpus.read_and_left_out import Counts
from pipeline.errors import StoreError
from pipeline.store.files import checksum, remove, write_json
from pipeline.types import Data, Document, Passage, sha256

MANIFEST = "manifest.json"
_REMEMBERED = 1 << 14
_SAMPLE = 500
_SHOWN, _SHOWN_ID = "shown.arrow", re.compile("p[0-9a-f]{12}")
T = TypeVar("T")


class PreparedFile(Data):
    size: int
    sha256: str


class Prepared(Data):
    """The manifest of a prepared corpus, written last."""

    signature: str
    """Of the source: see `source`."""
    fingerprint: str
    counts: Counts
    offenders: tuple[str, ...]
    """The first bad rows, one line each."""
    parts: int
    files: dict[str, PreparedFile]
    """By their names."""
    sha256: str = ""
    """Of all the others."""

    def sealed(self) -> Self:
        """With the checksum that it must have."""
        rest = self.model_dump(mode="json", exclude={"sha256"})
        return self.model_copy(update={"sha256": sha256(orjson.dumps(rest, option=orjson.OPT_SORT_KEYS).decode())})


class Lazy(Sequence[T]):
    """A sequence whose items are made when they are asked for."""

    def __init__(self, length: int, get: Callable[[int], T], each: Callable[[], Iterator[T]]) -> None:
        self._length, self._get, self._each = length, get, each

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._get(place) for place in range(*index.indices(self._length))]
        return self._get(range(self._length)[index])

    def __iter__(self) -> Iterator[T]:
        return self._each()


class Corpus:
    """A corpus on disk. Documents and passages are in the order of the source; all methods may be called from any
    thread."""

    def __init__(self, manifest: Manifest, folder: Path, prepared: Prepared, *, verified: bool = False) -> None:
        self.manifest, self.fingerprint = manifest, prepared.fingerprint
        self.counts, self.offenders = prepared.counts, prepared.offenders
        self.verified = verified
        """Was its source read for this command? Then what rests on it is to be looked at as well."""
        self.folder = folder
        """Where its files lie; what is derived from it may lie there too."""
        self._prepared = prepared
        self._parts = self._opened()
        self._numbers = parts.RowNumbers(folder / parts.ROWS)
        self._aliases = parts.map_table(folder / parts.ALIAS)
        self._aliased: Rows = parts.column(self._aliases, "document")
        self._remembered = lru_cache(_REMEMBERED)(self._passage)
        self.documents: Sequence[Document] = Lazy(len(self._parts), self._document, self._documents)
        self.passages: Sequence[Passage] = Lazy(prepared.counts.passages, self._at, self._passages)

    def _opened(self) -> parts.Parts:
        try:
            opened = parts.Parts(self.folder, self._prepared.parts, self._check)
        except (pa.ArrowException, KeyError, OSError) as error:
            raise StoreError(f"{self.folder} is damaged ({error})") from error
        if len(opened) != self.counts.kept:
            raise StoreError(f"{self.folder} is damaged: it holds {len(opened)} documents, not {self.counts.kept}")
        return opened

    def _check(self, name: str) -> None:
        """Raises StoreError where a file is not as it was prepared; the next command then prepares all anew."""
        path = self.folder / name
        if checksum(path) != self._prepared.files[name].sha256:
            remove(self.folder / MANIFEST)
            raise StoreError(f"{path} is damaged; repeat the command, which prepares the corpus anew")

    @cached_property
    def language(self) -> str:
        """The code that its manifest says, else the one that a sample of the texts shows, or `unknown`."""
        if (said := self.manifest.language) != UNKNOWN:
            return said
        places = range(0, len(self.passages), len(self.passages) // _SAMPLE + 1)
        return detected([self.in_order_of_ids(place).text for place in places])

    @property
    def language_detected(self) -> bool:
        """Did nobody say the language, and do the texts show another than English? Of English nothing rests on it."""
        return self.language not in {self.manifest.language, "en"}

    def document(self, document_id: str) -> Document | None:
        row = self._row(document_id)
        return None if row is None else self._document(row)

    def passage(self, passage_id: str) -> Passage | None:
        """The passage of that id."""
        document_id, _, number = passage_id.rpartition("#")
        row = self._row(document_id)
        # `a#01` is no id.
        known = row is not None and number.isascii() and number.isdigit() and str(int(number)) == number
        return self._remembered(row, int(number)) if known and int(number) < self._count(row) else None  # type: ignore[arg-type]

    def place(self, passage_id: str) -> int | None:
        """Where a passage stands in `passages`."""
        document_id, _, number = passage_id.rpartition("#")
        row = self._row(document_id)
        return None if row is None or self.passage(passage_id) is None else int(self._numbers.first[row]) + int(number)

    def row(self, place: int) -> int:
        """The document of the passage at that place, by its place in `documents`."""
        return int(self._numbers.first.searchsorted(np.uint64(place), side="right")) - 1

    def passages_of(self, document_id: str) -> list[Passage]:
        """All passages of one document, in order; empty for an unknown id."""
        row = self._row(document_id)
        return [] if row is None else [self._remembered(row, number) for number in range(self._count(row))]

    def in_order_of_ids(self, place: int) -> Passage:
        """A passage by its place in an order that rests on the ids of the documents alone, and not on the source's."""
        numbers = self._numbers
        index = int(numbers.ahead.searchsorted(np.uint64(place), side="right")) - 1
        return self._remembered(int(numbers.rows[index]), place - int(numbers.ahead[index]))

    def shown(self, shown_id: str) -> Passage | None:
        """The passage that agents see under that id. The first call takes seconds a million passages, once a corpus."""
        if not _SHOWN_ID.fullmatch(shown_id):
            return None
        keys, numbers = self._shown
        found = (self._at(int(numbers[place])) for place in places(keys, int(shown_id[1:], 16)))
        return next((passage for passage in found if passage.shown_id == shown_id), None)

    @cached_property
    def _shown(self) -> tuple[Hashes, Hashes]:
        path = self.folder / _SHOWN
        if not _as_prepared(path, self._prepared.files.get(_SHOWN)):
            ids = self._parts.iterate_columns("id", "spans")
            keys = np.fromiter(
                (int(sha256(f"{key}#{n}")[:12], 16) for key, spans in ids for n in range(len(spans) // 2)),
                np.uint64,
                len(self.passages),
            )
            order = np.argsort(keys, kind="stable")
            columns = {"key": parts.numbers(keys[order]), "place": parts.numbers(order.astype(np.uint64))}
            parts.write(path, pa.RecordBatch.from_pydict(columns))
            files = self._prepared.files | {_SHOWN: described(path)}
            self._prepared = keep(self.folder, self._prepared.model_copy(update={"files": files}))
        table = parts.map_table(path)
        return parts.column(table, "key"), parts.column(table, "place")

    def titles(self) -> Iterator[tuple[str, str]]:
        """The id of each document with its title, then of those that have other titles besides with each of these."""
        yield from self._parts.iterate_columns("id", "title")
        for row, title in zip(self._aliased, self._aliases.column("title"), strict=True):
            yield self._parts.value(int(row), "id"), title.as_py()

    def _row(self, document_id: str) -> int | None:
        for place in places(self._numbers.hashes, hash_text(document_id)):
            row = int(self._numbers.rows[place])
            if self._parts.value(row, "id") == document_id:
                return row
        return None

    def _count(self, row: int) -> int:
        first = self._numbers.first
        end = int(first[row + 1]) if row + 1 < len(first) else len(self.passages)
        return end - int(first[row])

    def _document(self, row: int) -> Document:
        return self._with_aliases(row, self._parts.document(row))

    def _with_aliases(self, row: int, document: Document) -> Document:
        also = titles(self._aliases, self._aliased, row, document.title)
        return document.model_copy(update={"aliases": also}) if also else document

    def _passage(self, row: int, number: int) -> Passage:
        return passage(self._parts.document(row), number, self._parts.span(row, number))

    def _at(self, place: int) -> Passage:
        row = self.row(place)
        return self._remembered(row, place - int(self._numbers.first[row]))

    def _documents(self) -> Iterator[Document]:
        return (self._with_aliases(row, document) for row, (document, _) in enumerate(self._parts.all()))

    def _passages(self) -> Iterator[Passage]:
        for document, spans in self._parts.all():
            for number, span in enumerate(spans):
                yield passage(document, number, span)


def finished(folder: Path, signature: str) -> Prepared | None:
    """What was prepared in that folder, if it is whole and its source has that signature. The texts are compared with
    their checksums when they are first read, the other files here."""
    try:
        prepared = Prepared.model_validate_json((folder / MANIFEST).read_bytes())
        if prepared.signature != signature or prepared != prepared.sealed():
            return None
        texts = set(map(parts.part, range(prepared.parts)))
        sizes = {name: (folder / name).stat().st_size for name in texts}
    except (OSError, ValidationError):
        return None
    whole = all(size == prepared.files[name].size for name, size in sizes.items())
    others = (name for name in prepared.files if name not in {*texts, _SHOWN})
    return prepared if whole and all(_as_prepared(folder / name, prepared.files[name]) for name in others) else None


def described(path: Path) -> PreparedFile:
    return PreparedFile(size=path.stat().st_size, sha256=checksum(path))


def keep(folder: Path, prepared: Prepared) -> Prepared:
    """Write the manifest, as it then stands."""
    sealed = prepared.sealed()
    write_json(folder / MANIFEST, sealed.model_dump(mode="json"))
    return sealed


def _as_prepared(path: Path, file: PreparedFile | None) -> bool:
    return file is not None and path.exists() and described(path) == file


def stored_sha256(document: Document) -> str:
    """What the fingerprint holds of a document besides its id."""
    published = ("", document.date, document.source) if document.date or document.source else ()
    known = (*published, *filter(None, (document.links,)))
    return sha256("\0".join((document.stored, *document.aliases, *known)))


def titles(table: pa.Table, rows: Rows, row: int, own: str) -> tuple[str, ...]:
    """The titles that a document has besides its own, each once; `rows` is the table's column of documents, sorted."""
    start, end = (int(rows.searchsorted(np.uint32(row), side=side)) for side in ("left", "right"))
    found = table.column("title").slice(start, end - start).to_pylist() if start < end else ()
    return tuple(dict.fromkeys(title for title in found if title != own))
