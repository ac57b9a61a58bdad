"""Read a corpus once and write it to files: one part at a time, in bounded memory.

A run that was killed continues after its last part.

Other values of a document are kept on disk until all documents are read (`kept_documents`). The fingerprint covers all
documents in the order of their ids.
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
from pipeline.corpus.prepared import (
    MANIFEST,
    Prepared,
    describe_file,
    find_finished,
    stored_sha256,
    titles,
    write_manifest,
)
from pipeline.corpus.progress_log import LoggedProgress
from pipeline.corpus.read_and_left_out import Tally
from pipeline.corpus.row_blocks import Block, blocks
from pipeline.errors import StoreError
from pipeline.store import databases
from pipeline.store.files import empty_folder
from pipeline.types import Data

_KEPT = "kept.sqlite"
_WRITING_SECONDS = 0.5
"""The seconds that a block has to be written after a signal."""
_JUDGED = ("id", "title", "digest", "sha256", "id_hash", "passages")
"""The columns that decide whether a document is kept, and that are stored then."""


class _Progress(Data):
    """The state after each part, from which a later process continues."""

    signature: str
    parts: int = 0
    rules: int = PLAIN
    tally: dict[str, Any] = Field(default_factory=dict)


def build(manifest: Manifest, folder: Path, signature: str) -> Prepared:
    """Prepare the corpus in the folder, continuing what an earlier process left there.

    Raises:
        CorpusError: if the corpus cannot be used.
    """
    if prepared := find_finished(folder, signature):
        empty_folder(folder, {MANIFEST, *prepared.files})
        return prepared
    try:
        with closing(KeptDocuments(folder / _KEPT)) as kept:
            return _read_source(_Builder(manifest, folder, signature, kept))
    except databases.Unwritable as error:
        raise StoreError(f"cannot write {folder / _KEPT}: {error}; is the disk full?") from error
    except databases.Damaged as error:
        empty_folder(folder)
        raise StoreError(f"{folder / _KEPT} is damaged; repeat the command, which prepares the corpus anew") from error


def _read_source(builder: "_Builder") -> Prepared:
    manifest, writing = builder.manifest, None
    progress = LoggedProgress(f"{manifest.name}: documents read")
    with Cutter() as cutter, ThreadPoolExecutor(1, thread_name_prefix="parts") as thread:
        try:
            for block in blocks(manifest, builder.tally.counts["read"], cutter):
                # The next block is read while this one is written.
                if writing:
                    writing.result()
                writing = thread.submit(builder.add, block)
                progress.at(builder.tally.counts["read"])
        except KeyboardInterrupt:
            # Do not wait many seconds until the block is cut: the next command reads it again.
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
    return builder.finish()


class _Builder:
    def __init__(self, manifest: Manifest, folder: Path, signature: str, kept: KeptDocuments) -> None:
        self.manifest, self._folder, self._kept = manifest, folder, kept
        self._progress = _Progress(signature=signature)
        with suppress(ValidationError):
            saved = _Progress.model_validate_json(kept.progress())
            self._progress = saved if saved.signature == signature else self._progress
        names = set(map(parts.part, range(self._progress.parts)))
        if not names:
            kept.close()
        empty_folder(folder, {_KEPT, *names} if names else ())
        self.tally = Tally(manifest, self._progress.tally)
        self._stopped = Event()

    def stop(self) -> None:
        """Abandon the block that is being added, from another thread. Nothing of it is stored."""
        self._stopped.set()

    def add(self, block: Block) -> None:
        """Judge the rows in order, and write the accepted ones as a part."""
        with self._kept.database:
            self._add(block)

    def _add(self, block: Block) -> None:
        self.tally.note(block.names)
        table, first = block.documents(), self.tally.counts["kept"]
        documents = enumerate(zip(*(table.column(name).to_pylist() for name in _JUDGED), strict=True))
        indices, has_alias = list[int](), False
        for row in block.rows:
            if self._stopped.is_set():
                raise CancelledError
            self.tally.read(row)
            if row.fault:
                continue
            index, (key, title, digest, *values) = next(documents)
            if (same := self._kept.same_text(digest)) is not None:
                self.tally.counts["duplicate"] += 1
                self._kept.add_alias(same, title)
                has_alias = True
            elif self._kept.add(first + len(indices), key, digest, *values):
                indices.append(index)
            else:
                why = f"id {key!r} was used before, for another text"
                self.tally.leave_out(row._replace(fault="bad", why=why))
        accepted = table.take(parts.numbers(np.array(indices, np.int64))).combine_chunks()
        sums = {name: int(parts.column(accepted, name).sum(dtype=np.uint64)) for name in ("passages", "characters")}
        self.tally.counts.update(kept=len(accepted), **sums)
        if indices or has_alias:
            self._write(accepted)

    def _write(self, accepted: pa.Table) -> None:
        path = self._folder / parts.part(self._progress.parts)
        parts.write(path, *parts.batches(accepted.select(parts.DOCUMENTS.names)))
        rules = int(parts.column(accepted, "rules").max(initial=self._progress.rules))
        changes = {"parts": self._progress.parts + 1, "rules": rules, "tally": self.tally.state()}
        self._progress = self._progress.model_copy(update=changes)
        self._kept.save(self._progress.model_dump_json().encode())

    def finish(self) -> Prepared:
        self.tally.check()
        self.tally.refuse_empty()
        folder, count = self._folder, self._progress.parts
        parts.write(folder / parts.ROWS, self._kept.numbers(self.tally.counts["kept"]))
        parts.write(folder / parts.ALIAS, self._kept.aliases())
        names = [*map(parts.part, range(count)), parts.ROWS, parts.ALIAS]
        prepared = Prepared(
            signature=self._progress.signature,
            fingerprint=self._fingerprint(),
            counts=self.tally.build_counts(readers.count_skipped(self.manifest.reader, self.manifest.path)),
            offenders=tuple(self.tally.offenders),
            parts=count,
            files={name: describe_file(folder / name) for name in names},
        )
        prepared = write_manifest(folder, prepared)
        empty_folder(folder, {MANIFEST, *names})
        return prepared

    def _fingerprint(self) -> str:
        digest = hashlib.sha256(f"chunker {self._progress.rules}".encode())
        stored = parts.Parts(self._folder, self._progress.parts)
        alias_table = parts.map_table(self._folder / parts.ALIAS)
        rows = parts.column(alias_table, "document")
        has_aliases = np.zeros(len(stored), bool)
        has_aliases[rows] = True
        for key, sha256, row in self._kept.in_order_of_ids():
            document_sha256 = sha256
            if has_aliases[row]:
                document = stored.document(row)
                aliases = titles(alias_table, rows, row, document.title)
                document_sha256 = stored_sha256(document.model_copy(update={"aliases": aliases}))
            digest.update(f"\n{key}\0{document_sha256}".encode())
        return digest.hexdigest()
