"""The folder of a Lucene index: built once per corpus fingerprint and analyser, its manifest written last.

An index is derived data. So one that is half-built, damaged or of another build of Lucene is made again, with a
warning, rather than trusted; the manifest holds the checksum of every file. A lock on the folder makes a second
process wait for the first one's index.
"""

import fcntl
import logging
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

from pydantic import ValidationError

from pipeline.corpus.loading import Corpus, checksum
from pipeline.errors import RetrievalError
from pipeline.store.files import write_json
from pipeline.types import Data

logger = logging.getLogger(__name__)


class IndexManifest(Data):
    corpus: str
    fingerprint: str
    analyser: str
    passages: int
    engine: str
    files: dict[str, str]
    """sha256 by name."""


def folder(corpus: Corpus, analyser: str, out: Path) -> Path:
    """Where the index of a corpus lies, built or not."""
    return out / "indexes" / f"{corpus.manifest.name}-{corpus.fingerprint[:12]}-{analyser}"


def engine() -> str:
    return f"pyserini {version('pyserini')}"


def ensure(corpus: Corpus, analyser: str, out: Path, build: Callable[[Path], None]) -> Path:
    """The folder of a complete index, built by `build(folder)` if there is none that can be trusted."""
    home = folder(corpus, analyser, out)
    try:
        home.mkdir(parents=True, exist_ok=True)
        with _locked(home):
            why = problem(corpus, analyser, out)
            if why:
                if why != "not built":
                    logger.warning("the index %s is made again: %s", home, why)
                _rebuild(home, corpus, analyser, build)
    except OSError as error:
        raise RetrievalError(f"cannot write the index {home}: {error.strerror or error}") from error
    return home / "lucene"


def problem(corpus: Corpus, analyser: str, out: Path) -> str:
    """Why the index cannot be used, or nothing."""
    home = folder(corpus, analyser, out)
    path = home / "manifest.json"
    if not path.exists():
        return "half-built" if (home / "lucene").exists() else "not built"
    try:
        manifest = IndexManifest.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return "its manifest cannot be read"
    if (manifest.fingerprint, manifest.analyser, manifest.engine) != (corpus.fingerprint, analyser, engine()):
        return f"it was built by {manifest.engine} for another corpus or engine"
    try:
        damaged = [name for name, digest in manifest.files.items() if checksum(home / "lucene" / name) != digest]
    except OSError as error:
        return f"a file of it cannot be read ({error})"
    return f"its file {damaged[0]} is damaged" if damaged else ""


def _rebuild(home: Path, corpus: Corpus, analyser: str, build: Callable[[Path], None]) -> None:
    (home / "manifest.json").unlink(missing_ok=True)
    shutil.rmtree(home / "lucene", ignore_errors=True)
    try:
        build(home / "lucene")
    except BaseException:
        shutil.rmtree(home / "lucene", ignore_errors=True)
        raise
    manifest = IndexManifest(
        corpus=corpus.manifest.name,
        fingerprint=corpus.fingerprint,
        analyser=analyser,
        passages=len(corpus.passages),
        engine=engine(),
        files={path.name: checksum(path) for path in sorted((home / "lucene").iterdir()) if path.name != "write.lock"},
    )
    write_json(home / "manifest.json", manifest.model_dump())


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """Hold the folder itself: no lock file is left behind, and a killed process lets go."""
    descriptor = os.open(home, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)
