"""The folder of a Lucene index: built once per corpus fingerprint and analyser, its manifest written last.

An index is derived data: one that is incomplete, damaged or built by another engine is rebuilt with a warning. The
manifest holds size, time and checksum of every file; a file is hashed again only where its time is another, or the
corpus was verified. A second process waits for the first one's index.
"""

import logging
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from pydantic import ValidationError

from pipeline.corpus import Corpus
from pipeline.errors import StoreError
from pipeline.store.files import checksum, empty_folder, growing_folder, write_json
from pipeline.types import Data

logger = logging.getLogger(__name__)


class IndexFile(Data):
    size: int
    mtime_ns: int
    sha256: str


class IndexManifest(Data):
    corpus: str
    fingerprint: str
    analyser: str
    passages: int
    engine: str
    files: dict[str, IndexFile]


def folder(corpus: Corpus, analyser: str, out: Path) -> Path:
    """The folder of the index of a corpus, built or not."""
    return out / "indexes" / f"{corpus.manifest.name}-{corpus.fingerprint[:12]}-{analyser}"


def built(out: Path) -> list[str]:
    """The names of the complete indexes under `out`."""
    return sorted(path.parent.name for path in (out / "indexes").glob("*/manifest.json") if path.parent.suffix == "")


def engine() -> str:
    return f"pyserini {version('pyserini')}"


def ensure(corpus: Corpus, analyser: str, out: Path, build: Callable[[Path], None]) -> Path:
    """The folder of a complete index, which `build(folder)` makes if there is none."""
    home = folder(corpus, analyser, out)
    if not problem(corpus, analyser, out):
        return home / "lucene"
    building = home.with_name(f"{home.name}.incomplete")
    with growing_folder(building) as install:
        if why := problem(corpus, analyser, out):  # else another process has built it meanwhile
            if why != "not built":
                logger.warning("rebuilding the index %s: %s", home, why)
            empty_folder(building)  # of what a process that was killed has left
            try:
                build(building / "lucene")
                kept = {"corpus": corpus.manifest.name, "fingerprint": corpus.fingerprint, "analyser": analyser}
                manifest = IndexManifest(
                    **kept, passages=len(corpus.passages), engine=engine(), files=_files(building / "lucene")
                )
                write_json(building / "manifest.json", manifest.model_dump())
            except BaseException:
                empty_folder(building)
                raise
            install(home)
    return home / "lucene"


def problem(corpus: Corpus, analyser: str, out: Path) -> str:
    """Why the index cannot be used; empty if it can."""
    home = folder(corpus, analyser, out)
    path = home / "manifest.json"
    if not path.exists():
        return "it has no manifest" if home.exists() else "not built"
    try:
        manifest = IndexManifest.model_validate_json(path.read_bytes())
    except (OSError, ValidationError):
        return "its manifest cannot be read"
    if (manifest.fingerprint, manifest.analyser, manifest.engine) != (corpus.fingerprint, analyser, engine()):
        return f"it was built by {manifest.engine} for another corpus or engine"
    try:
        found = {name: (home / "lucene" / name).stat() for name in manifest.files}
        moved = [name for name, file in manifest.files.items() if found[name].st_mtime_ns != file.mtime_ns]
        for name, file in manifest.files.items():
            hashed = corpus.verified or name in moved
            if found[name].st_size != file.size or (hashed and checksum(home / "lucene" / name) != file.sha256):
                return f"its file {name} is damaged"
    except OSError as error:
        return f"a file of it cannot be read ({error})"
    if moved:  # copied: not to be hashed at every opening
        with suppress(StoreError):
            write_json(path, manifest.model_copy(update={"files": _files(home / "lucene")}).model_dump())
    return ""


def _files(folder: Path) -> dict[str, IndexFile]:
    return {
        path.name: IndexFile(size=(stat := path.stat()).st_size, mtime_ns=stat.st_mtime_ns, sha256=checksum(path))
        for path in sorted(folder.iterdir())
    }
