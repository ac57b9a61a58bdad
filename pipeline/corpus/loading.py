"""A manifest into a corpus on disk: prepared the first time, opened every other time."""

from contextlib import suppress
from pathlib import Path

from pipeline.corpus.ingest import build
from pipeline.corpus.manifest import Manifest
from pipeline.corpus.prepared import Corpus, finished
from pipeline.corpus.source_identity import place, signature
from pipeline.corpus.walking import OURS
from pipeline.errors import CorpusError, StoreError, reason
from pipeline.store.files import (
    atomic_write,
    checksum,
    discard_unfinished,
    empty_folder,
    growing_folder,
    make_temporary_folder,
)


def load(manifest: Manifest, out: Path | None = None, *, verify: bool = False) -> Corpus:
    """The corpus, prepared under `out`, or in a temporary folder that goes with the manifest.

    It is read where that was not done yet, where size, time or name of a file of the source differ, and to `verify` it.
    Raises CorpusError, one line that says what to do, where it cannot be used.
    """
    known = signature(manifest)
    home = (out or make_temporary_folder(manifest)) / "corpora"
    if not verify and (found := _recognised(manifest, home, known)):
        return found
    _set_apart(home.parent, manifest)
    building = home / f"{manifest.name}-{known[:12]}.incomplete"
    with growing_folder(building) as install:
        # Another process may have prepared it meanwhile.
        if not verify and (found := _recognised(manifest, home, known)):
            return found
        if verify:
            empty_folder(building)
        try:
            _check(manifest)
            prepared = build(manifest, building, known)
            _refuse_changed(manifest, known)
        except CorpusError:
            empty_folder(building)
            # A source that is still written explains any other error.
            _refuse_changed(manifest, known)
            raise
        except OSError as error:  # what is written has errors of its own
            raise CorpusError(f"{manifest.path}: it cannot be read ({reason(error)}); repeat the command") from error
        folder = home / f"{manifest.name}-{prepared.fingerprint[:12]}"
        install(folder)
    discard_unfinished(home, f"{manifest.name}-*")
    return Corpus(manifest, folder, prepared, verified=verify)


def _set_apart(out: Path, manifest: Manifest) -> None:
    """Mark a folder of outputs that lies within the source, as that of a command given in it does."""
    source = place(manifest).resolve()
    if manifest.remote or not out.resolve().is_relative_to(source):
        return
    if out.resolve() == source:
        raise CorpusError(f"{manifest.path}: what is made of the corpus would lie among its files; name another --out")
    atomic_write(out / OURS, b"")


def _recognised(manifest: Manifest, home: Path, known: str) -> Corpus | None:
    for folder in sorted(home.glob(f"{manifest.name}-*/")):
        if folder.suffix == "" and (prepared := finished(folder, known)):
            with suppress(StoreError):  # damaged: it is prepared anew
                return Corpus(manifest, folder, prepared)
    return None


def _refuse_changed(manifest: Manifest, known: str) -> None:
    if signature(manifest) != known:
        raise CorpusError(
            f"{manifest.path}: it changed while it was read; repeat the command when nothing writes to it any more, "
            "or name a copy of it"
        )


def _check(manifest: Manifest) -> None:
    if manifest.sha256 and checksum(manifest.path) != manifest.sha256:
        path = manifest.path
        raise CorpusError(f"{path}: its sha256 differs from the manifest's; download it again, or correct the manifest")
