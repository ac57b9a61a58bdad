"""The vectors of a corpus's passages: one file next to its indexes, written in parts and mapped into memory.

Rows are in the order of `Corpus.in_order_of_ids`, which all sources of the same fingerprint share. A new process
continues what a killed one has written. A second process waits for the first. Texts that an earlier state of the corpus
had keep their vectors.
"""

import io
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from pipeline.config.retrieval import DenseConfig
from pipeline.corpus import Corpus
from pipeline.corpus.hashes import Hashes
from pipeline.corpus.progress_log import LoggedProgress
from pipeline.retrieval.encoder import Encoder, Matrix
from pipeline.retrieval.known_vectors import KnownVectors, digest_texts
from pipeline.retrieval.passage_texts import contents
from pipeline.store.files import atomic_write, checksum, growing_folder, write_json
from pipeline.store.rows import row_file
from pipeline.types import Data

FILE, TEXTS = "vectors.npy", "texts.npy"
_MANIFEST = "manifest.json"
_PART = 1024
"""Number of passages that are encoded and written together."""


class VectorManifest(Data):
    """Description of a complete vector file. It is written last."""

    corpus: str
    fingerprint: str
    encoder: str
    digest: str
    """Digest of the encoder and of its settings for passages."""
    passages: int
    dimension: int
    sha256: str
    texts_sha256: str = ""
    """Checksum of the file with the digests of the texts; empty if it was not written yet."""


def ensure(corpus: Corpus, encoder: Encoder, settings: DenseConfig, out: Path) -> Path:
    """Return the folder of the vectors; encode the passages first if there is none."""
    digest = settings.passages_digest()
    home = out / "indexes" / f"{corpus.manifest.name}-{corpus.fingerprint[:12]}-dense-{digest[:12]}"
    if _is_complete(home, corpus, digest):
        return home
    building = home.with_name(f"{home.name}.incomplete")
    with growing_folder(building) as install:
        if _is_complete(home, corpus, digest):  # another process has encoded them in the meantime
            return home
        dimension = _encode(building / FILE, corpus, encoder, settings, _find_known(corpus.manifest.name, digest, out))
        digests = digest_texts(_read_texts(corpus, settings, range(len(corpus.passages))))
        atomic_write(building / TEXTS, _to_npy(digests))
        source = {"corpus": corpus.manifest.name, "fingerprint": corpus.fingerprint, "encoder": settings.label}
        size = {"passages": len(corpus.passages), "dimension": dimension}
        checksums = {"sha256": checksum(building / FILE), "texts_sha256": checksum(building / TEXTS)}
        manifest = VectorManifest(**source, **size, **checksums, digest=digest)
        write_json(building / _MANIFEST, manifest.model_dump())
        install(home)
    return home


def map_vectors(home: Path) -> Matrix:
    return np.load(home / FILE, mmap_mode="r")  # type: ignore[no-any-return]


def _is_complete(home: Path, corpus: Corpus, digest: str) -> bool:
    path = home / FILE
    try:
        manifest = VectorManifest.model_validate_json((home / _MANIFEST).read_bytes())
        expected_size = (
            len(_format_header(manifest.passages, manifest.dimension)) + 4 * manifest.passages * manifest.dimension
        )
        has_full_size = path.stat().st_size == expected_size
    except (OSError, ValidationError):
        return False
    is_same_input = (manifest.fingerprint, manifest.digest) == (corpus.fingerprint, digest)
    return has_full_size and is_same_input and (not corpus.verified or checksum(path) == manifest.sha256)


def _find_known(name: str, digest: str, out: Path) -> KnownVectors | None:
    """Return the newest intact vectors of another state of a corpus, by the same encoder."""
    paths = (out / "indexes").glob(f"*-dense-{digest[:12]}/{_MANIFEST}")
    for path in sorted(paths, key=lambda path: path.stat().st_mtime_ns, reverse=True):
        with suppress(OSError, ValidationError):
            manifest, home = VectorManifest.model_validate_json(path.read_bytes()), path.parent
            is_intact = (checksum(home / FILE), checksum(home / TEXTS)) == (manifest.sha256, manifest.texts_sha256)
            if is_intact and (manifest.corpus, manifest.digest) == (name, digest):
                return KnownVectors(np.load(home / TEXTS), map_vectors(home))
    return None


def _encode(
    path: Path, corpus: Corpus, encoder: Encoder, settings: DenseConfig, known_vectors: KnownVectors | None
) -> int:
    """Append the vectors that the file lacks and return their dimension."""
    count, dimension = len(corpus.passages), int(encoder.encode(["a"]).shape[1])
    progress = LoggedProgress(f"{corpus.manifest.name}: passages encoded")
    with row_file(path, _format_header(count, dimension), 4 * dimension, _PART) as file:
        for start in range(file.done, count, _PART):
            rows = range(start, min(start + _PART, count))
            texts = list(_read_texts(corpus, settings, rows))
            matrix = known_vectors.encode(texts, encoder) if known_vectors else encoder.encode(texts)
            file.append(np.ascontiguousarray(matrix, "<f4").tobytes())
            progress.at(rows.stop, count)
    return dimension


def _read_texts(corpus: Corpus, settings: DenseConfig, rows: Iterable[int]) -> Iterator[str]:
    return (settings.passage_prefix + contents(corpus.in_order_of_ids(row)) for row in rows)


def _to_npy(array: Hashes) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def _format_header(count: int, dimension: int) -> bytes:
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f4", "fortran_order": False, "shape": (count, dimension)})
    return header.getvalue()
