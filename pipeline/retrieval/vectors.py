"""The vectors of a corpus's passages: one file beside its indexes, made in parts and mapped into memory.

Rows are in the order of `Corpus.in_order_of_ids`, which is one for all sources of the same fingerprint. What a killed
process has written is kept, and the next goes on from there; a second one waits.
"""

import io
from pathlib import Path

import numpy as np
from pydantic import ValidationError

from pipeline.config.dense_settings import DenseConfig
from pipeline.corpus import Corpus
from pipeline.corpus.progress_log import LoggedProgress
from pipeline.retrieval.encoder import Encoder, Matrix
from pipeline.retrieval.passage_texts import contents
from pipeline.store.files import checksum, growing_folder, write_json
from pipeline.store.rows import row_file
from pipeline.types import Data

FILE = "vectors.npy"
_PART = 1024
"""Passages that are encoded and written together."""


class VectorManifest(Data):
    """Written last."""

    corpus: str
    fingerprint: str
    encoder: str
    digest: str
    """Of the encoder and of its settings for passages."""
    passages: int
    dimension: int
    sha256: str


def ensure(corpus: Corpus, encoder: Encoder, settings: DenseConfig, out: Path) -> Path:
    """The folder of the vectors, made if there are none."""
    digest = settings.passages_digest()
    home = out / "indexes" / f"{corpus.manifest.name}-{corpus.fingerprint[:12]}-dense-{digest[:12]}"
    if _whole(home, corpus, digest):
        return home
    building = home.with_name(f"{home.name}.incomplete")
    with growing_folder(building) as install:
        if _whole(home, corpus, digest):  # another process has made them meanwhile
            return home
        dimension = _encode(building / FILE, corpus, encoder, settings)
        known = {"corpus": corpus.manifest.name, "fingerprint": corpus.fingerprint, "encoder": settings.label}
        size = {"passages": len(corpus.passages), "dimension": dimension}
        manifest = VectorManifest(**known, **size, digest=digest, sha256=checksum(building / FILE))
        write_json(building / "manifest.json", manifest.model_dump())
        install(home)
    return home


def mapped(home: Path) -> Matrix:
    return np.load(home / FILE, mmap_mode="r")  # type: ignore[no-any-return]


def _whole(home: Path, corpus: Corpus, digest: str) -> bool:
    path = home / FILE
    try:
        known = VectorManifest.model_validate_json((home / "manifest.json").read_bytes())
        size = len(_header(known.passages, known.dimension)) + 4 * known.passages * known.dimension
        whole = path.stat().st_size == size
    except (OSError, ValidationError):
        return False
    same = (known.fingerprint, known.digest) == (corpus.fingerprint, digest)
    return whole and same and (not corpus.verified or checksum(path) == known.sha256)


def _encode(path: Path, corpus: Corpus, encoder: Encoder, settings: DenseConfig) -> int:
    """Write the vectors of all passages that the file lacks; the number of their dimensions."""
    count, dimension = len(corpus.passages), int(encoder.encode(["a"]).shape[1])
    progress = LoggedProgress(f"{corpus.manifest.name}: passages encoded")
    with row_file(path, _header(count, dimension), 4 * dimension, _PART) as file:
        for start in range(file.done, count, _PART):
            places = range(start, min(start + _PART, count))
            texts = [settings.passage_prefix + contents(corpus.in_order_of_ids(place)) for place in places]
            file.append(np.ascontiguousarray(encoder.encode(texts), "<f4").tobytes())
            progress.at(places.stop, count)
    return dimension


def _header(count: int, dimension: int) -> bytes:
    """Of NumPy's file format."""
    made = io.BytesIO()
    np.lib.format.write_array_header_1_0(made, {"descr": "<f4", "fortran_order": False, "shape": (count, dimension)})
    return made.getvalue()
