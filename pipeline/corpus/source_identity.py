"""Identifies a source without reading it: by the names, sizes and times of its files, and how they are read."""

import hashlib
from functools import cache
from pathlib import Path

import orjson

from pipeline import text
from pipeline.corpus.manifest import Manifest
from pipeline.corpus.readers import hf
from pipeline.corpus.readers.folder import READERS
from pipeline.corpus.unreadable_files import BESIDE
from pipeline.corpus.walking import walk
from pipeline.errors import CorpusError
from pipeline.text import scripts
from pipeline.types import sha256


def signature(manifest: Manifest) -> str:
    """Return a hash of the source's files, of how the manifest says to read them, and of the code that does.

    Raises:
        CorpusError: if the source does not exist.
    """
    files: list[tuple[object, ...]]
    if manifest.remote:
        files = [(name,) for name in hf.files(manifest.path)]
    else:
        path = source_path(manifest)
        if not path.exists():
            raise CorpusError(f"{path}: no such file; the manifest of '{manifest.name}' names it")
        files = [
            _file_identity(file, path) for file in (walk(path) if path.is_dir() else [path]) if file.name != BESIDE
        ]
    how = manifest.model_dump(mode="json", include={"name", "reader", "source", "sha256", "fields", "limits", "chunks"})
    versions = {name: reader.version for name, reader in READERS.items()}
    return sha256(orjson.dumps([how, files, versions, _code()]).decode())


def source_path(manifest: Manifest) -> Path:
    return Path(hf.parse_address(str(manifest.path)).name) if manifest.reader == "hf" else manifest.path


def _file_identity(file: Path, root: Path) -> tuple[object, ...]:
    try:
        status = file.stat()
    except OSError:  # a broken link, which its reader counts
        status = file.lstat()
    # The name may not be UTF-8.
    return bytes(file.relative_to(root)).hex(), status.st_size, status.st_mtime_ns


@cache
def _code() -> str:
    here = Path(__file__).parent
    files = [*sorted(here.rglob("*.py")), Path(text.__file__), Path(scripts.__file__)]
    return hashlib.sha256(b"\0".join(file.read_bytes() for file in files)).hexdigest()
