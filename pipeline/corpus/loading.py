"""Load the corpus of a manifest: prepare it the first time, and open it after that."""

from contextlib import suppress
from pathlib import Path

from pipeline.corpus.ingest import build
from pipeline.corpus.manifest import Manifest
from pipeline.corpus.prepared import Corpus, Prepared, find_finished
from pipeline.corpus.source_identity import signature, source_path
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
    """Return the corpus, prepared under `out` or in a temporary folder that lives as long as the manifest.

    The source is read if that was not done before, if the size, time or name of one of its files differs, or to
    `verify` it.

    Raises:
        CorpusError: if the corpus cannot be used. Its one line says what to do.
    """
    source_signature = signature(manifest)
    home = (out or make_temporary_folder(manifest)) / "corpora"
    if not verify and (corpus := _find_prepared(manifest, home, source_signature)):
        return corpus
    _mark_outputs(home.parent, manifest)
    building = home / f"{manifest.name}-{source_signature[:12]}.incomplete"
    with growing_folder(building) as install:
        # Another process may have prepared it in the meantime.
        if not verify and (corpus := _find_prepared(manifest, home, source_signature)):
            return corpus
        empty_folder(building)  # a killed process may have left files
        try:
            prepared = _prepare(manifest, building, source_signature)
        except BaseException:
            empty_folder(building)
            raise
        folder = home / f"{manifest.name}-{prepared.fingerprint[:12]}"
        install(folder)
    discard_unfinished(home, f"{manifest.name}-*")
    return Corpus(manifest, folder, prepared, verified=verify)


def find_prepared(manifest: Manifest, out: Path, fingerprint: str) -> Corpus | None:
    """Return the corpus that was prepared under `out` with this fingerprint, or None if it is gone or damaged."""
    folder = out / "corpora" / f"{manifest.name}-{fingerprint[:12]}"
    prepared = find_finished(folder)
    if prepared is None or prepared.fingerprint != fingerprint:
        return None
    try:
        return Corpus(manifest, folder, prepared)
    except StoreError:
        return None


def find_current(manifest: Manifest, out: Path) -> Corpus | None:
    """Return the corpus as it was prepared from its source of today, or None if that has not been done."""
    return _find_prepared(manifest, out / "corpora", signature(manifest))


def _prepare(manifest: Manifest, building: Path, source_signature: str) -> Prepared:
    try:
        _check_sha256(manifest)
        prepared = build(manifest, building, source_signature)
        _refuse_changed(manifest, source_signature)
    except CorpusError:
        # A source that is still being written explains any other error.
        _refuse_changed(manifest, source_signature)
        raise
    except OSError as error:  # writing raises other errors
        raise CorpusError(f"{manifest.path}: it cannot be read ({reason(error)}); repeat the command") from error
    return prepared


def _mark_outputs(out: Path, manifest: Manifest) -> None:
    """Mark an output folder that lies within the source, so that it is not read as a part of it."""
    source = source_path(manifest).resolve()
    if manifest.remote or not out.resolve().is_relative_to(source):
        return
    if out.resolve() == source:
        raise CorpusError(f"{manifest.path}: the outputs would be among the corpus's files; name another --out")
    atomic_write(out / OURS, b"")


def _find_prepared(manifest: Manifest, home: Path, source_signature: str) -> Corpus | None:
    for folder in sorted(home.glob(f"{manifest.name}-*/")):
        if folder.suffix == "" and (prepared := find_finished(folder, source_signature)):
            with suppress(StoreError):  # damaged: prepare it again
                return Corpus(manifest, folder, prepared)
    return None


def _refuse_changed(manifest: Manifest, source_signature: str) -> None:
    if signature(manifest) != source_signature:
        raise CorpusError(
            f"{manifest.path}: it changed while it was read; repeat the command when nothing writes to it any more, "
            "or use a copy of it"
        )


def _check_sha256(manifest: Manifest) -> None:
    if manifest.sha256 and checksum(manifest.path) != manifest.sha256:
        path = manifest.path
        raise CorpusError(f"{path}: its sha256 differs from the manifest's; download it again, or correct the manifest")
