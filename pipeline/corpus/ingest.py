"""A corpus is read once, into files: in bounded memory, a part at a time, and on from the last part after a kill.

What else is to be known of a document until all are there is kept on disk (`kept_documents`). The fingerprint is taken
of all documents in the order of their ids.
"""

import hashlib
from concurrent.futures import CancelledError, ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from threading import Event
from typing import Any

import numpy as np
import pyarrow as pa
from pydantic import Field, ValidationError

from pipeline.corpus import parts, readers
from pipeline.corpus.cutting import PLAIN
from pipeline.corpus.cutting_process import Cutter
from pipeline.corpus.kept_documents import KeptDocuments
from pipeline.corpus.manifest import Manifest
from pipeline.corpus.prepared import MANIFEST, Prepared, described, finished, keep, stored_sha256, titles
from pipeline.corpus.progress_log import LoggedProgress
from pipeline.corpus.read_and_left_out import Tally
from pipeline.corpus.row_blocks import Block, blocks
from pipeline.errors import StoreError
from pipeline.store import databases
from pipeline.store.files import empty_folder
from pipeline.types import Data

_KEPT = "kept.sqlite"
_WRITING_SECONDS = 0.5
"""Seconds that the writing of a block goes on after a signal."""
_JUDGED = ("id", "title", "digest", "sha256", "id_hash", "passages")
"""What is to be known of a document to judge it and to keep it."""


class _Progress(Data):
    """Kept with each part: what stands in its files, and what a later process needs to go on."""

    signature: str
    parts: int = 0
    rules: int = PLAIN
    tally: dict[str, Any] = Field(default_factory=dict)


def build(manifest: Manifest, folder: Path, signature: str) -> Prepared:
    """Fill the folder, going on with what an earlier process left in it. Raises CorpusError where the corpus cannot be
    used."""
    if prepared := finished(folder, signature):
        empty_folder(folder, {MANIFEST, *prepared.files})
        return prepared
    try:
        with closing(KeptDocuments(folder / _KEPT)) as kept:
            return _built(_Builder(manifest, folder, signature, kept))
    except databases.Unwritable as error:
        raise StoreError(f"cannot write {folder / _KEPT}: {error}; is the disk full?") from error
    except databases.Damaged as error:
        empty_folder(folder)
        raise StoreError(f"{folder / _KEPT} is damaged; repeat the command, which prepares the corpus anew") from error


def _built(builder: "_Builder") -> Prepared:
    manifest, writing = builder.manifest, None
    progress = LoggedProgress(f"{manifest.name}: documents read")
    with Cutter() as cutter, ThreadPoolExecutor(1, thread_name_prefix="parts") as thread:
        try:
            for block in blocks(manifest, builder.tally.counts["read"], cutter):
                # While one is written the next is read.
                if writing:
                    writing.result()
                writing = thread.submit(builder.add, block)
                progress.at(builder.tally.counts["read"])
        except KeyboardInterrupt:
            # The next command reads this block again. To wait until it is cut takes many seconds.
            cutter.stop()
            if writing:
                with suppress(TimeoutError):
                    writing.exception(_WRITING_SECONDS)
                builder.stop()
                writing.exception()
                writing = None
            raise
        finally:
            if writing:
                writing.result()
    return builder.finished()


class _Builder:
    def __init__(self, manifest: Manifest, folder: Path, signature: str, kept: KeptDocuments) -> None:
        self.manifest, self._folder, self._kept = manifest, folder, kept
        self._progress = _Progress(signature=signature)
        with suppress(ValidationError):
            known = _Progress.model_validate_json(kept.progress())
            self._progress = known if known.signature == signature else self._progress
        names = set(map(parts.part, range(self._progress.parts)))
        if not names:
            kept.close()
        empty_folder(folder, {_KEPT, *names} if names else ())
        self.tally = Tally(manifest, self._progress.tally)
        self._stopped = Event()

    def stop(self) -> None:
        """Give up the block that is being added, from another thread. Nothing of it is kept."""
        self._stopped.set()

    def add(self, block: Block) -> None:
        """Judge the rows in order, and write those that are kept as a part."""
        with self._kept.database:
            self._add(block)

    def _add(self, block: Block) -> None:
        self.tally.note(block.names)
        table, first = block.documents(), self.tally.counts["kept"]
        found = enumerate(zip(*(table.column(name).to_pylist() for name in _JUDGED), strict=True))
        places, again = list[int](), False
        for row in block.rows:
            if self._stopped.is_set():
                raise CancelledError
            self.tally.read(row)
            if row.fault:
                continue
            place, (key, title, digest, *others) = next(found)
            if (same := self._kept.same_text(digest)) is not None:
                self.tally.counts["duplicate"] += 1
                self._kept.add_alias(same, title)
                again = True
            elif self._kept.add(first + len(places), key, digest, *others):
                places.append(place)
            else:
                used = f"id {key!r} was used before, for another text"
                self.tally.leave_out(row._replace(fault="bad", why=used))
        kept = table.take(parts.numbers(np.array(places, np.int64))).combine_chunks()
        sums = {name: int(parts.column(kept, name).sum(dtype=np.uint64)) for name in ("passages", "characters")}
        self.tally.counts.update(kept=len(kept), **sums)
        if places or again:
            self._write(kept)

    def _write(self, kept: pa.Table) -> None:
        path = self._folder / parts.part(self._progress.parts)
        parts.write(path, *parts.batches(kept.select(parts.DOCUMENTS.names)))
        rules = int(parts.column(kept, "rules").max(initial=self._progress.rules))
        further = {"parts": self._progress.parts + 1, "rules": rules, "tally": self.tally.state()}
        self._progress = self._progress.model_copy(update=further)
        self._kept.save(self._progress.model_dump_json().encode())

    def finished(self) -> Prepared:
        self.tally.check()
        self.tally.refuse_empty()
        folder, count = self._folder, self._progress.parts
        parts.write(folder / parts.ROWS, self._kept.numbers(self.tally.counts["kept"]))
        parts.write(folder / parts.ALIAS, self._kept.aliases())
        names = [*map(parts.part, range(count)), parts.ROWS, parts.ALIAS]
        prepared = Prepared(
            signature=self._progress.signature,
            fingerprint=self._fingerprint(),
            counts=self.tally.counted(readers.skipped(self.manifest.reader, self.manifest.path)),
            offenders=tuple(self.tally.offenders),
            parts=count,
            files={name: described(folder / name) for name in names},
        )
        prepared = keep(folder, prepared)
        empty_folder(folder, {MANIFEST, *names})
        return prepared

    def _fingerprint(self) -> str:
        digest = hashlib.sha256(f"chunker {self._progress.rules}".encode())
        stored = parts.Parts(self._folder, self._progress.parts)
        aliased = parts.map_table(self._folder / parts.ALIAS)
        rows = parts.column(aliased, "document")
        with_more = np.zeros(len(stored), bool)
        with_more[rows] = True
        for key, sha256, row in self._kept.in_order_of_ids():
            known = sha256
            if with_more[row]:
                document = stored.document(row)
                aliases = titles(aliased, rows, row, document.title)
                known = stored_sha256(document.model_copy(update={"aliases": aliases}))
            digest.update(f"\n{key}\0{known}".encode())
        return digest.hexdigest()
