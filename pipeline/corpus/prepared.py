"""A prepared corpus, which opens at once whatever its size and is read one document at a time.

No object per passage is kept in memory. Lookups by index or id read from mapped files; iteration reads the files in the
order of the source.
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
from pipeline.corpus.language import UNKNOWN, detect_language
from pipeline.corpus.manifest import Manifest
from pipeline.corpus.read_and_left_out import Counts
from pipeline.errors import StoreError
from pipeline.store.files import checksum, remove, write_json
from pipeline.store.lock_files import mark_as_used
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
    """The signature of the source: see `source_identity`."""
    fingerprint: str
    counts: Counts
    offenders: tuple[str, ...]
    """The first bad rows, one line each."""
    parts: int
    files: dict[str, PreparedFile]
    """The files by name."""
    sha256: str = ""
    """The checksum of all other fields."""

    def seal(self) -> Self:
        """Return a copy with its checksum."""
        fields = self.model_dump(mode="json", exclude={"sha256"})
        return self.model_copy(update={"sha256": sha256(orjson.dumps(fields, option=orjson.OPT_SORT_KEYS).decode())})


class Lazy(Sequence[T]):
    """A sequence that builds its items on access."""

    def __init__(self, length: int, get: Callable[[int], T], each: Callable[[], Iterator[T]]) -> None:
        self._length, self._get, self._each = length, get, each

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return [self._get(position) for position in range(*index.indices(self._length))]
        return self._get(range(self._length)[index])

    def __iter__(self) -> Iterator[T]:
        return self._each()


class Corpus:
    """A corpus on disk. Documents and passages are in the order of the source. All methods are thread-safe."""

    def __init__(self, manifest: Manifest, folder: Path, prepared: Prepared, *, verified: bool = False) -> None:
        self.manifest, self.fingerprint = manifest, prepared.fingerprint
        self.counts, self.offenders = prepared.counts, prepared.offenders
        self.verified = verified
        """Whether this command has read the source. Files derived from the corpus are verified then too."""
        self.folder = folder
        """The folder of its files, and of files derived from it."""
        self._prepared = prepared
        mark_as_used(folder, self)
        self._parts = self._open_parts()
        self._numbers = parts.RowNumbers(folder / parts.ROWS)
        self._aliases = parts.map_table(folder / parts.ALIAS)
        self._aliased: Rows = parts.column(self._aliases, "document")
        self._remembered = lru_cache(_REMEMBERED)(self._passage)
        self.documents: Sequence[Document] = Lazy(len(self._parts), self._document, self._documents)
        self.passages: Sequence[Passage] = Lazy(prepared.counts.passages, self._passage_at, self._passages)

    def _open_parts(self) -> parts.Parts:
        try:
            opened = parts.Parts(self.folder, self._prepared.parts, self._check)
        except (pa.ArrowException, KeyError, OSError) as error:
            raise StoreError(f"{self.folder} is damaged ({error})") from error
        if len(opened) != self.counts.kept:
            raise StoreError(f"{self.folder} is damaged: it holds {len(opened)} documents, not {self.counts.kept}")
        return opened

    def _check(self, name: str) -> None:
        """Raise StoreError if a file has changed, and make the next command prepare the corpus again."""
        path = self.folder / name
        if checksum(path) != self._prepared.files[name].sha256:
            remove(self.folder / MANIFEST)
            raise StoreError(f"{path} is damaged; repeat the command, which prepares the corpus anew")

    @cached_property
    def language(self) -> str:
        """Return the code in the manifest, or else the code detected in a sample of the texts, or `unknown`."""
        if self.manifest.language != UNKNOWN:
            return self.manifest.language
        indices = range(0, len(self.passages), len(self.passages) // _SAMPLE + 1)
        return detect_language([self.in_order_of_ids(index).text for index in indices])

    @property
    def language_detected(self) -> bool:
        """Return whether nobody stated the language, and the texts show it."""
        return self.language != self.manifest.language

    def document(self, document_id: str) -> Document | None:
        row = self._row(document_id)
        return None if row is None else self._document(row)

    def passage(self, passage_id: str) -> Passage | None:
        document_id, _, number = passage_id.rpartition("#")
        if (row := self._row(document_id)) is None:
            return None
        # `a#01` is not an id.
        is_number = number.isascii() and number.isdigit() and str(int(number)) == number
        return self._remembered(row, int(number)) if is_number and int(number) < self._count(row) else None

    def place(self, passage_id: str) -> int | None:
        """Return the index of a passage in `passages`."""
        document_id, _, number = passage_id.rpartition("#")
        row = self._row(document_id)
        return None if row is None or self.passage(passage_id) is None else int(self._numbers.first[row]) + int(number)

    def row(self, place: int) -> int:
        """Return the index in `documents` of the document of a passage, given the passage's index in `passages`."""
        return int(self._numbers.first.searchsorted(np.uint64(place), side="right")) - 1

    def passages_of(self, document_id: str) -> list[Passage]:
        """Return all passages of one document, in order; none for an unknown id."""
        row = self._row(document_id)
        return [] if row is None else [self._remembered(row, number) for number in range(self._count(row))]

    def in_order_of_ids(self, place: int) -> Passage:
        """Return a passage by its index in an order that depends on the ids of the documents alone."""
        numbers = self._numbers
        index = int(numbers.ahead.searchsorted(np.uint64(place), side="right")) - 1
        return self._remembered(int(numbers.rows[index]), place - int(numbers.ahead[index]))

    def find_shown(self, shown_id: str) -> Passage | None:
        """Return the passage that agents see under that id.

        The first call for a corpus takes seconds for each million passages.
        """
        if not _SHOWN_ID.fullmatch(shown_id):
            return None
        keys, numbers = self._places_of_shown_ids
        candidates = (self._passage_at(int(numbers[index])) for index in places(keys, int(shown_id[1:], 16)))
        return next((passage for passage in candidates if passage.shown_id == shown_id), None)

    @cached_property
    def _places_of_shown_ids(self) -> tuple[Hashes, Hashes]:
        """Return the shown ids of all passages, as sorted numbers, and the index of each passage in `passages`."""
        path = self.folder / _SHOWN
        if not _is_unchanged(path, self._prepared.files.get(_SHOWN)):
            ids = self._parts.iterate_columns("id", "spans")
            keys = np.fromiter(
                (int(sha256(f"{key}#{n}")[:12], 16) for key, spans in ids for n in range(len(spans) // 2)),
                np.uint64,
                len(self.passages),
            )
            order = np.argsort(keys, kind="stable")
            columns = {"key": parts.numbers(keys[order]), "place": parts.numbers(order.astype(np.uint64))}
            parts.write(path, pa.RecordBatch.from_pydict(columns))
            files = self._prepared.files | {_SHOWN: describe_file(path)}
            self._prepared = write_manifest(self.folder, self._prepared.model_copy(update={"files": files}))
        table = parts.map_table(path)
        return parts.column(table, "key"), parts.column(table, "place")

    def titles(self) -> Iterator[tuple[str, str]]:
        """Yield the id and title of each document, then the id of a document with each of its aliases."""
        yield from self._parts.iterate_columns("id", "title")
        for row, title in zip(self._aliased, self._aliases.column("title"), strict=True):
            yield self._parts.value(int(row), "id"), title.as_py()

    def _row(self, document_id: str) -> int | None:
        for index in places(self._numbers.hashes, hash_text(document_id)):
            row = int(self._numbers.rows[index])
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
        aliases = list_aliases(self._aliases, self._aliased, row, document.title)
        return document.model_copy(update={"aliases": aliases}) if aliases else document

    def _passage(self, row: int, number: int) -> Passage:
        return passage(self._parts.document(row), number, self._parts.span(row, number))

    def _passage_at(self, index: int) -> Passage:
        row = self.row(index)
        return self._remembered(row, index - int(self._numbers.first[row]))

    def _documents(self) -> Iterator[Document]:
        return (self._with_aliases(row, document) for row, (document, _) in enumerate(self._parts.all()))

    def _passages(self) -> Iterator[Passage]:
        for document, spans in self._parts.all():
            for number, span in enumerate(spans):
                yield passage(document, number, span)


def find_finished(folder: Path, signature: str = "") -> Prepared | None:
    """Return the manifest of the corpus in that folder if it is complete and its source has that signature, if any.

    The checksums of the texts are compared when they are first read, those of the other files here.
    """
    try:
        prepared = Prepared.model_validate_json((folder / MANIFEST).read_bytes())
        if signature not in ("", prepared.signature) or prepared != prepared.seal():
            return None
        texts = set(map(parts.part, range(prepared.parts)))
        sizes = {name: (folder / name).stat().st_size for name in texts}
    except (OSError, ValidationError):
        return None
    if any(size != prepared.files[name].size for name, size in sizes.items()):
        return None
    other_files = (name for name in prepared.files if name not in {*texts, _SHOWN})
    return prepared if all(_is_unchanged(folder / name, prepared.files[name]) for name in other_files) else None


def describe_file(path: Path) -> PreparedFile:
    return PreparedFile(size=path.stat().st_size, sha256=checksum(path))


def write_manifest(folder: Path, prepared: Prepared) -> Prepared:
    sealed = prepared.seal()
    write_json(folder / MANIFEST, sealed.model_dump(mode="json"))
    return sealed


def _is_unchanged(path: Path, file: PreparedFile | None) -> bool:
    return file is not None and path.exists() and describe_file(path) == file


def stored_sha256(document: Document) -> str:
    """Return the part of the corpus's fingerprint for a document, besides its id."""
    published = ("", document.date, document.source) if document.date or document.source else ()
    return sha256("\0".join((document.stored, *document.aliases, *published, *filter(None, (document.links,)))))


def list_aliases(table: pa.Table, rows: Rows, row: int, title: str) -> tuple[str, ...]:
    """Return the aliases of a document, each once.

    Args:
        table: the table of aliases.
        rows: the row of the document of each alias, sorted.
        row: the row of the document.
        title: its title, which is not an alias.
    """
    start, end = (int(rows.searchsorted(np.uint32(row), side=side)) for side in ("left", "right"))
    aliases = table.column("title").slice(start, end - start).to_pylist() if start < end else ()
    return tuple(dict.fromkeys(alias for alias in aliases if alias != title))
