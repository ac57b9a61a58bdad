"""A corpus is read once, into files: in bounded memory, a part at a time, and on from the last part after a kill.

What is held of a document beyond its part are two hashes for the search for duplicates, most of them on disk. The
fingerprint is taken of all documents sorted by their ids, which are merged from sorted files, one for each part.
"""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import numpy as np
import pyarrow as pa
from pydantic import ValidationError

from pipeline.corpus import lines, parts, readers
from pipeline.corpus.cutting import Cutter
from pipeline.corpus.manifest import Manifest
from pipeline.corpus.passages import PLAIN
from pipeline.corpus.prepared import MANIFEST, Prepared, described, finished, keep, stored_sha256, titles
from pipeline.corpus.progress_log import LoggedProgress
from pipeline.corpus.row_blocks import Block, blocks
from pipeline.corpus.seen import SeenHashes
from pipeline.corpus.tally import Tally, TallyState
from pipeline.store.files import emptied, write_json
from pipeline.types import Data

_PROGRESS = "progress.json"


class _Progress(Data):
    """Written after each part: what stands in its files, and what a later process needs to go on."""

    signature: str
    parts: int = 0
    rules: int = PLAIN
    tally: TallyState = TallyState()


def build(manifest: Manifest, folder: Path, signature: str) -> Prepared:
    """Fill the folder, going on with what an earlier process left in it. Raises CorpusError where the corpus cannot be
    used."""
    if prepared := finished(folder, signature):
        emptied(folder, {MANIFEST, *prepared.files})
        return prepared
    builder, progress = _Builder(manifest, folder, signature), LoggedProgress(f"{manifest.name}: documents read")
    with Cutter() as cutter, ThreadPoolExecutor(1, thread_name_prefix="parts") as thread:
        writing = None
        try:
            for block in blocks(manifest, builder.tally.counts["read"], cutter):
                # While one is written the next is read.
                if writing:
                    writing.result()
                writing = thread.submit(builder.add, block)
                progress.at(builder.tally.counts["read"])
        finally:
            if writing:
                writing.result()
    return builder.finished()


class _Builder:
    def __init__(self, manifest: Manifest, folder: Path, signature: str) -> None:
        self._manifest, self._folder = manifest, folder
        progress = _kept(folder, signature)
        kept = {name for number in range(progress.parts) for name in _names(number)}
        emptied(folder, {_PROGRESS, *kept} if progress.parts else ())
        self._signature, self._parts, self._rules = signature, progress.parts, progress.rules
        self.tally = Tally(manifest, progress.tally)
        self._stored = parts.Parts(folder, progress.parts)
        self._texts, self._ids = SeenHashes(folder, "texts"), SeenHashes(folder, "ids")
        for number in range(progress.parts):
            self._remember(parts.mapped(folder / lines.name(number)))

    def _remember(self, written: pa.Table) -> None:
        rows = parts.column(written, "row")
        self._texts.add(parts.column(written, "text_hash"), rows)
        self._ids.add(parts.column(written, "id_hash"), rows)

    def add(self, block: Block) -> None:
        """Judge the rows in order, and write those that are kept as a part."""
        self.tally.note(block.names)
        part = _Part(self._stored, block.documents(), self._texts, self._ids)
        document = 0
        for row in block.rows:
            self.tally.read(row)
            if row.fault:
                continue
            if (first := part.same("text", document)) is not None:
                self.tally.counts["duplicate"] += 1
                part.aliases.append((first, part.value("title", document)))
            elif part.same("id", document) is not None:
                used = f"id {part.value('id', document)!r} was used before, for another text"
                self.tally.leave_out(row._replace(fault="bad", why=used))
            else:
                part.keep(document)
            document += 1
        kept = part.documents()
        sums = {name: int(parts.column(kept, name).sum(dtype=np.uint64)) for name in ("passages", "characters")}
        self.tally.counts.update(kept=len(kept), **sums)
        if len(kept) or part.aliases:
            self._write(part, kept)

    def _write(self, part: "_Part", kept: pa.Table) -> None:
        folder, number = self._folder, self._parts
        parts.write(folder / parts.part(number), *parts.batches(kept.select(parts.DOCUMENTS.names)))
        parts.write(folder / _aliases(number), parts.aliases(part.aliases))
        written = lines.write(folder / lines.name(number), kept, len(self._stored))
        self._parts, self._rules = number + 1, int(parts.column(kept, "rules").max(initial=self._rules))
        progress = _Progress(signature=self._signature, parts=self._parts, rules=self._rules, tally=self.tally.state())
        write_json(folder / _PROGRESS, progress.model_dump(mode="json"))
        self._stored.extend(folder / parts.part(number))
        self._remember(written)

    def finished(self) -> Prepared:
        self.tally.check()
        self.tally.refuse_empty()
        folder = self._folder
        lines.number_rows(folder, self._parts, len(self._stored))
        names = [*map(parts.part, range(self._parts)), parts.ROWS, parts.ALIAS]
        fingerprint = self._fingerprint(self._aliased())
        prepared = Prepared(
            signature=self._signature,
            fingerprint=fingerprint,
            counts=self.tally.counted(readers.skipped(self._manifest.reader, self._manifest.path)),
            offenders=tuple(self.tally.offenders),
            parts=self._parts,
            files={name: described(folder / name) for name in names},
        )
        prepared = keep(folder, prepared)
        emptied(folder, {MANIFEST, *names})
        return prepared

    def _aliased(self) -> pa.Table:
        """All titles that documents have besides their own, in the order of the documents; written too."""
        table = pa.concat_tables([parts.mapped(self._folder / _aliases(number)) for number in range(self._parts)])
        order = np.argsort(parts.column(table, "document"), kind="stable")
        table = table.take(parts.numbers(order)).combine_chunks()
        parts.write(self._folder / parts.ALIAS, *parts.batches(table))
        return parts.mapped(self._folder / parts.ALIAS)

    def _fingerprint(self, aliased: pa.Table) -> str:
        digest = hashlib.sha256(f"chunker {self._rules}".encode())
        rows = parts.column(aliased, "document")
        with_more = np.zeros(len(self._stored), bool)
        with_more[rows] = True
        for key, sha256, row in lines.merged(self._folder, self._parts):
            if with_more[row]:
                document = self._stored.document(row)
                with_aliases = document.model_copy(update={"aliases": titles(aliased, rows, row, document.title)})
                digest.update(f"\n{key}\0{stored_sha256(with_aliases)}".encode())
            else:
                digest.update(f"\n{key}\0{sha256}".encode())
        return digest.hexdigest()


class _Part:
    """What is kept of a block's documents, each of which is given by its place in the block."""

    def __init__(self, before: parts.Parts, found: pa.Table, texts: SeenHashes, ids: SeenHashes) -> None:
        self._before, self._first, self._found = before, len(before), found
        self._kept: list[int] = []
        self.aliases: list[tuple[int, str]] = []
        self._suspects = {"text": self._suspected("text", texts), "id": self._suspected("id", ids)}
        self._seen: dict[tuple[str, int], list[int]] = {}
        """The rows here that have a hash of which there are several."""

    def _suspected(self, name: str, seen: SeenHashes) -> dict[int, tuple[int, list[int]]]:
        """Of each document that is not the only one with its hash, the hash and the rows before that have it."""
        hashes = parts.column(self._found, f"{name}_hash")
        earlier = seen.find(hashes)
        order = np.argsort(hashes)
        twice = np.flatnonzero(hashes[order][1:] == hashes[order][:-1])
        places = {*earlier, *order[twice].tolist(), *order[twice + 1].tolist()}
        return {place: (int(hashes[place]), earlier.get(place, [])) for place in places}

    def value(self, name: str, place: int) -> str:
        return str(self._found.column(name)[place].as_py())

    def same(self, name: str, place: int) -> int | None:
        """The row of the document that has this one's text or id already."""
        if place not in self._suspects[name]:
            return None
        hashed, earlier = self._suspects[name][place]
        for row in (*earlier, *self._seen.get((name, hashed), ())):
            own = row - self._first
            known = self.value(name, self._kept[own]) if own >= 0 else self._before.value(row, name)
            if known == self.value(name, place):
                return int(row)
        return None

    def keep(self, place: int) -> None:
        for name, suspects in self._suspects.items():
            if place in suspects:
                self._seen.setdefault((name, suspects[place][0]), []).append(self._first + len(self._kept))
        self._kept.append(place)

    def documents(self) -> pa.Table:
        return self._found.take(parts.numbers(np.array(self._kept, np.int64))).combine_chunks()


def _kept(folder: Path, signature: str) -> _Progress:
    """What an earlier process has done for the same source."""
    with suppress(OSError, ValidationError):
        progress = _Progress.model_validate_json((folder / _PROGRESS).read_bytes())
        if progress.signature == signature:
            return progress
    return _Progress(signature=signature)


def _aliases(number: int) -> str:
    return f"aliases-{number:05}.arrow"


def _names(number: int) -> tuple[str, str, str]:
    return parts.part(number), lines.name(number), _aliases(number)
