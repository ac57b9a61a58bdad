"""What a corpus is and where it comes from: a TOML file in `corpora/`, or a bare path and what the user says of it."""

import re
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from pipeline.config import CorpusConfig, slug, toml
from pipeline.corpus import readers
from pipeline.corpus.readers.base import ReadLimits
from pipeline.errors import CorpusError, UsageError
from pipeline.folders import folder
from pipeline.types import Data

ROOT = folder("corpora")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class Fields(Data):
    """How the corpus calls the parts of a document."""

    id: str = "id"
    title: tuple[str, ...] = Field(("title",), min_length=1)
    """The first names the entity; later ones follow in brackets, as in "Algeria (Geography)"."""
    text: str = "text"
    url: str = "url"


class Manifest(Data):
    name: str = Field(pattern=rf"^{_NAME.pattern}$")
    reader: str
    source: Path
    """A relative path is relative to the folder of the manifests."""
    sha256: str = Field("", pattern=r"^([0-9a-f]{64})?$")
    """Empty: not checked. A folder has none."""
    licence: str = "unknown"
    """An SPDX expression."""
    attribution: str = "unknown"
    language: str = Field("unknown", pattern=r"^(unknown|[a-z]{2,3}(-[A-Za-z0-9]{2,8})*)$")
    """A code such as `en` or `pt-BR`."""
    redistribute: Literal["full", "spans", "ids", "unknown"] = "unknown"
    """How much of the text may be passed on."""
    fields: Fields = Fields()
    limits: ReadLimits = ReadLimits()

    @property
    def path(self) -> Path:
        return self.source if self.source.is_absolute() else ROOT / self.source


def names() -> list[str]:
    """Every corpus with a manifest."""
    return sorted(path.stem for path in ROOT.glob("*.toml") if _NAME.fullmatch(path.stem))


def read(name: str) -> Manifest:
    """The manifest of a known corpus. Raises CorpusError, naming the key, where it is not as it should be."""
    path = ROOT / f"{name}.toml"
    try:
        manifest = Manifest.model_validate(toml.read(path))
    except UsageError as error:
        raise CorpusError(str(error).replace("cannot read", "cannot read the manifest", 1)) from error
    except ValidationError as error:
        first = error.errors()[0]
        raise CorpusError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    if manifest.name != name:
        raise CorpusError(f"{path}: its name must be '{name}', not '{manifest.name}'")
    return manifest


def resolve(name_or_path: str, **said_of_it: str | None) -> Manifest:
    """The manifest of a known name, or one made for a file or folder by what is said of it; the rest is unknown.

    What can be said are the fields of `CorpusConfig`.
    Raises UsageError where something is said of a known corpus, whose manifest says it all.
    """
    given = CorpusConfig(name=name_or_path, **said_of_it)
    fields = Fields(id=given.id_field, title=(given.title_field,), text=given.text_field)
    said = given.model_dump(include={"language", "licence", "attribution"}, exclude_none=True)
    if _NAME.fullmatch(name_or_path) and name_or_path in names():
        if fields != Fields():
            raise UsageError(f"the manifest of '{name_or_path}' names its fields: leave out --text-field and the like")
        if said:
            raise UsageError(f"the manifest of '{name_or_path}' says its {', '.join(said)}: leave out these options")
        return read(name_or_path)
    path = _existing(name_or_path)
    if path is None and re.search(r"[/.~]", name_or_path):
        raise CorpusError(f"{name_or_path!r}: no such file or folder; known corpora: {', '.join(names())}")
    if path is None:
        raise UsageError(
            f"no corpus '{name_or_path}'; known: {', '.join(names())}; or give the path of {readers.TAKEN}"
        )
    reader = readers.for_path(path)
    if reader == "folder":
        fields = Fields()
    try:
        return Manifest(name=slug(path), reader=reader, source=path, fields=fields, **said)
    except ValidationError as error:
        # Nothing else of it can be wrong.
        raise UsageError(f"--language takes a code such as en, de or pt-BR, not '{given.language}'") from error


def _existing(text: str) -> Path | None:
    """Absolute. A file's link is not followed: what it leads to may have another ending, as in the Hub's own cache."""
    try:
        path = Path(text).expanduser()
        if not text or not path.exists():
            return None
        return path.resolve() if path.is_dir() else path.absolute()
    except (OSError, ValueError, RuntimeError):  # too long, a NUL in it, an unknown user's home
        return None
