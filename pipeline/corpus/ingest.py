"""Read a corpus once and write it to files: one part at a time, in bounded memory.

Other values of a document are kept on disk until all documents are read (`kept_documents`). The fingerprint covers all
documents in the order of their ids.
"""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import numpy as np

from pipeline.corpus import parts, readers
from pipeline.corpus.cutting import PLAIN
from pipeline.corpus.cutting_process import Cutter
from pipeline.corpus.kept_documents import KeptDocuments
from pipeline.corpus.manifest import Manifest
from pipeline.corpus.prepared import MANIFEST, Prepared, describe_file, list_aliases, stored_sha256, write_manifest
from pipeline.corpus.read_and_left_out import Tally
from pipeline.corpus.readers import pdf
from pipeline.corpus.row_blocks import Block, blocks
from pipeline.errors import CorpusError, StoreError
from pipeline.store import databases
from pipeline.store.files import empty_folder

_KEPT = "kept.sqlite"
_JUDGED = ("id", "title", "digest", "sha256", "id_hash", "passages")
"""The columns that decide whether a document is kept, and that are stored then."""


def build(manifest: Manifest, folder: Path, signature: str) -> Prepared:
    """Prepare the corpus in an empty folder. Raises CorpusError if the corpus cannot be used."""
    try:
        with closing(KeptDocuments(folder / _KEPT)) as kept:
            builder = _Builder(manifest, folder, kept)
            _read_source(builder)
            return builder.finish(signature)
    except databases.Unwritable as error:
        raise StoreError(f"cannot write {folder / _KEPT}: {error}; is the disk full?") from error


def _read_source(builder: "_Builder") -> None:
    manifest, writing = builder.manifest, None
    # An error stops the cutter first, so that nothing waits many seconds until a block is cut.
    with (
        ThreadPoolExecutor(1, thread_name_prefix="parts") as thread,
        Cutter(uncut=manifest.chunks == "as-is") as cutter,
    ):
        try:
            for block in blocks(manifest, cutter):
                # The next block is read while this one is written.
                if writing:
                    writing.result()
                writing = thread.submit(builder.add, block)
        except CorpusError:
            # Rows that were read before are judged before it: their error comes first.
            if writing:
                writing.result()
            raise
        if writing:
            writing.result()


class _Builder:
    def __init__(self, manifest: Manifest, folder: Path, kept: KeptDocuments) -> None:
        self.manifest, self._folder, self._kept = manifest, folder, kept
        self.tally = Tally(manifest)
        self._parts, self._rules = 0, PLAIN

    def add(self, block: Block) -> None:
        """Judge the rows in order, and write the accepted ones as a part."""
        self.tally.note(block.names)
        table, first = block.documents(), self.tally.counts["kept"]
        documents = enumerate(zip(*(table.column(name).to_pylist() for name in _JUDGED), strict=True))
        indices = list[int]()
        for row in block.rows:
            self.tally.read(row)
            if row.fault:
                continue
            index, (key, title, digest, *values) = next(documents)
            if (same := self._kept.same_text(digest)) is not None:
                self.tally.counts["duplicate"] += 1
                self._kept.add_alias(same, title)
            elif self._kept.add(first + len(indices), key, digest, *values):
                indices.append(index)
            else:
                why = f"id {key!r} was used before, for another text"
                self.tally.leave_out(row._replace(fault="bad", why=why))
        accepted = table.take(parts.numbers(np.array(indices, np.int64))).combine_chunks()
        sums = {name: int(parts.column(accepted, name).sum(dtype=np.uint64)) for name in ("passages", "characters")}
        self.tally.counts.update(kept=len(accepted), **sums)
        if indices:
            path = self._folder / parts.part(self._parts)
            parts.write(path, *accepted.select(parts.DOCUMENTS.names).to_batches())
            self._rules = int(parts.column(accepted, "rules").max(initial=self._rules))
            self._parts += 1

    def finish(self, signature: str) -> Prepared:
        self.tally.check()
        self.tally.refuse_empty()
        folder, count = self._folder, self._parts
        parts.write(folder / parts.ROWS, self._kept.numbers(self.tally.counts["kept"]))
        parts.write(folder / parts.ALIAS, self._kept.aliases())
        names = [*map(parts.part, range(count)), parts.ROWS, parts.ALIAS]
        prepared = Prepared(
            signature=signature,
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
        digest = hashlib.sha256(f"chunker {self._rules}".encode())
        if pdf.READER.kind in self.tally.kinds:
            digest.update(f"\n{pdf.PACKAGE.name} {pdf.READER.version}".encode())
        stored = parts.Parts(self._folder, self._parts)
        alias_table = parts.map_table(self._folder / parts.ALIAS)
        rows = parts.column(alias_table, "document")
        has_aliases = np.zeros(len(stored), bool)
        has_aliases[rows] = True
        for key, sha256, row in self._kept.in_order_of_ids():
            document_sha256 = sha256
            if has_aliases[row]:
                document = stored.document(row)
                aliases = list_aliases(alias_table, rows, row, document.title)
                document_sha256 = stored_sha256(document.model_copy(update={"aliases": aliases}))
            digest.update(f"\n{key}\0{document_sha256}".encode())
        return digest.hexdigest()
