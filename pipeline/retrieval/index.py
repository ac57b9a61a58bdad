"""The folder of a Lucene index. An index is built once per corpus fingerprint and analyser, and its manifest is last.

An index is derived data: one that is incomplete, damaged or built by another engine is rebuilt with a warning. The
manifest holds the size, time and checksum of every file. A file is hashed again only if its time has changed or the
corpus was verified. A second process waits for the first.
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
    """Description of a complete index."""

    corpus: str
    fingerprint: str
    analyser: str
    passages: int
    engine: str
    files: dict[str, IndexFile]


def folder(corpus: Corpus, analyser: str, out: Path) -> Path:
    """Return the folder of a corpus's index, whether it is built or not."""
    return out / "indexes" / f"{corpus.manifest.name}-{corpus.fingerprint[:12]}-{analyser}"


def list_built(out: Path) -> list[str]:
    """Return the names of the complete indexes under `out`."""
    return sorted(path.parent.name for path in (out / "indexes").glob("*/manifest.json") if path.parent.suffix == "")


def engine() -> str:
    return f"pyserini {version('pyserini')}"


def ensure(corpus: Corpus, analyser: str, out: Path, build: Callable[[Path], None]) -> Path:
    """Return the folder of a complete index; call `build(folder)` first if there is none."""
    home = folder(corpus, analyser, out)
    if not problem(corpus, analyser, out):
        return home / "lucene"
    building = home.with_name(f"{home.name}.incomplete")
    with growing_folder(building) as install:
        if why := problem(corpus, analyser, out):  # otherwise another process has built it in the meantime
            if why != "not built":
                logger.warning("rebuilding the index %s: %s", home, why)
            empty_folder(building)  # remove what a killed process has left
            try:
                build(building / "lucene")
                source = {"corpus": corpus.manifest.name, "fingerprint": corpus.fingerprint, "analyser": analyser}
                manifest = IndexManifest(
                    **source, passages=len(corpus.passages), engine=engine(), files=_describe_files(building / "lucene")
                )
                write_json(building / "manifest.json", manifest.model_dump())
            except BaseException:
                empty_folder(building)
                raise
            install(home)
    return home / "lucene"


def problem(corpus: Corpus, analyser: str, out: Path) -> str:
    """Return why the index cannot be used, or an empty string if it can."""
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
        stats = {name: (home / "lucene" / name).stat() for name in manifest.files}
        touched = [name for name, file in manifest.files.items() if stats[name].st_mtime_ns != file.mtime_ns]
        for name, file in manifest.files.items():
            needs_hash = corpus.verified or name in touched
            if stats[name].st_size != file.size or (needs_hash and checksum(home / "lucene" / name) != file.sha256):
                return f"its file {name} is damaged"
    except OSError as error:
        return f"one of its files cannot be read ({error})"
    if touched:  # the index was copied: update the times, so that it is not hashed at every opening
        with suppress(StoreError):
            write_json(path, manifest.model_copy(update={"files": _describe_files(home / "lucene")}).model_dump())
    return ""


def _describe_files(folder: Path) -> dict[str, IndexFile]:
    return {
        path.name: IndexFile(size=(stat := path.stat()).st_size, mtime_ns=stat.st_mtime_ns, sha256=checksum(path))
        for path in sorted(folder.iterdir())
    }
