"""Cut documents into passages in a second process, since this takes as long as all other steps of preparing a corpus.

Documents are sent, and their passages returned, as Arrow batches through pipes. The result does not depend on the
process that cuts.
"""

import sys
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from subprocess import Popen
from threading import Event
from types import TracebackType
from typing import Any, Self

import numpy as np
import pyarrow as pa

from pipeline.corpus import parts
from pipeline.corpus.child_process import end_child, start_child
from pipeline.corpus.cutting import UNCUT, rules, spans
from pipeline.corpus.hashes import hash_text
from pipeline.corpus.prepared import stored_sha256
from pipeline.types import sha256

CUTS = pa.schema(
    [parts.DOCUMENTS.field("spans"), ("passages", pa.uint32()), ("characters", pa.uint32()), ("sha256", pa.string()),
     ("digest", pa.string()), ("id_hash", pa.uint64()), ("rules", pa.uint8())]
)  # fmt: skip
"""`digest` is the hash of the text alone, `rules` the number of the rules that cut the document."""
_ALONE = 8 << 20
"""This process cuts the first so many characters itself: for fewer, a second process is not worth its start."""
_CHILD = "import sys; from pipeline.corpus.cutting_process import serve; serve(uncut=sys.argv[1] == 'True')"


def cut(texts: pa.RecordBatch, stopped: Event | None = None, *, uncut: bool = False) -> pa.RecordBatch:
    """Cut documents, and return what `CUTS` lists. Raises CancelledError once `stopped` is set.

    If `uncut` is set, each document is one passage.
    """
    documents = [parts.document(row) for row in zip(*(column.to_pylist() for column in texts.columns), strict=True)]
    cuts = []
    for document in documents:
        if stopped and stopped.is_set():
            raise CancelledError
        cuts.append(spans(document, uncut=uncut))
    columns: dict[str, tuple[Any, Any]] = {
        "passages": (map(len, cuts), np.uint32),
        "characters": ((len(document.text) for document in documents), np.uint32),
        "id_hash": ((hash_text(document.id) for document in documents), np.uint64),
        "rules": ((UNCUT if uncut else rules(document.text) for document in documents), np.uint8),
    }
    arrays = {name: parts.numbers(np.fromiter(values, kind, len(cuts))) for name, (values, kind) in columns.items()}
    texts_of = {"sha256": map(stored_sha256, documents), "digest": (sha256(document.text) for document in documents)}
    arrays |= {name: parts.strings(list(values)) for name, values in texts_of.items()} | {"spans": parts.spans(cuts)}
    return pa.RecordBatch.from_arrays([arrays[name] for name in CUTS.names], schema=CUTS)


class Cutter:
    """Cuts batches in order. One thread of this process waits for the second process."""

    def __init__(self, *, uncut: bool = False) -> None:
        self._uncut = uncut
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="cutter")
        self._characters = 0
        self._child: Popen[bytes] | None = None
        self._writer: Any = None
        self._reader: Any = None
        self._alone = False
        self._stopped = Event()

    def submit(self, texts: pa.RecordBatch, characters: int) -> Future[pa.RecordBatch]:
        self._characters += characters
        return self._thread.submit(self._cut, texts, away=self._characters > _ALONE)

    def _cut(self, texts: pa.RecordBatch, *, away: bool) -> pa.RecordBatch:
        if away and not self._alone and not self._stopped.is_set():
            try:
                return self._cut_away(texts)
            except (OSError, StopIteration, pa.ArrowInvalid):  # it could not start, or was killed
                self._alone = True
        return cut(texts, self._stopped, uncut=self._uncut)

    def _cut_away(self, texts: pa.RecordBatch) -> pa.RecordBatch:
        if not self._child:
            self._child = start_child(_CHILD, self._uncut)
            self._writer = pa.ipc.new_stream(self._child.stdin, parts.TEXTS)
            if self._stopped.is_set():  # `__exit__` may have come before there was a process to kill
                self._child.kill()
        self._writer.write_batch(texts)
        self._child.stdin.flush()  # type: ignore[union-attr]
        self._reader = self._reader or pa.ipc.open_stream(self._child.stdout)
        return self._reader.read_next_batch()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Abandon the batches that are not cut yet. Waiting for them raises CancelledError."""
        self._stopped.set()
        if self._child:
            self._child.kill()
        self._thread.shutdown(cancel_futures=True)
        if self._child:
            end_child(self._child)


def serve(*, uncut: bool) -> None:
    with pa.ipc.new_stream(sys.stdout.buffer, CUTS) as writer:
        for texts in pa.ipc.open_stream(sys.stdin.buffer):
            writer.write_batch(cut(texts, uncut=uncut))
            sys.stdout.buffer.flush()
