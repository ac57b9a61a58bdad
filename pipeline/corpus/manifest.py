"""What a corpus is and where it comes from: a TOML file in `corpora/`, or a bare path and what the user says of it."""

import re
import tomllib
from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from pipeline import readers
from pipeline.config import slug
from pipeline.errors import CorpusError, UsageError
from pipeline.folders import folder
from pipeline.readers.base import Limits
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
    language: str = "en"
    redistribute: Literal["full", "spans", "ids", "unknown"] = "unknown"
    """How much of the text may be passed on."""
    fields: Fields = Fields()
    limits: Limits = Limits()

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
        manifest = Manifest.model_validate(tomllib.loads(path.read_text(encoding="utf-8-sig")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CorpusError(f"cannot read the manifest {path}: {error}") from error
    except ValidationError as error:
        first = error.errors()[0]
        raise CorpusError(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    if manifest.name != name:
        raise CorpusError(f"{path}: its name must be '{name}', not '{manifest.name}'")
    return manifest


def resolve(
    name_or_path: str, *, text_field: str = "text", title_field: str = "title", id_field: str = "id"
) -> Manifest:
    """The manifest of a known name, or one made for a file or folder, with an unknown licence.

    The field names apply to paths only. Raises UsageError where they are given for a manifest, which has its own.
    """
    fields = Fields(id=id_field, title=(title_field,), text=text_field)
    if _NAME.fullmatch(name_or_path) and name_or_path in names():
        if fields != Fields():
            raise UsageError(f"the manifest of '{name_or_path}' names its fields: leave --text-field and the like out")
        return read(name_or_path)
    path = _existing(name_or_path)
    if path is None and re.search(r"[/.~]", name_or_path):
        raise CorpusError(f"{name_or_path!r}: no such file or folder; known corpora: {', '.join(names())}")
    if path is None:
        raise UsageError(
            f"no corpus '{name_or_path}'; known: {', '.join(names())}; or give the path of {readers.TAKEN}"
        )
    reader = readers.for_path(path)
    return Manifest(
        name=slug(path),
        reader=reader,
        source=path,
        fields=Fields() if reader == "folder" else fields,
    )


def _existing(text: str) -> Path | None:
    """Absolute. A file's link is not followed: what it leads to may have another ending, as in the Hub's own cache."""
    try:
        path = Path(text).expanduser()
        if not text or not path.exists():
            return None
        return path.resolve() if path.is_dir() else path.absolute()
    except (OSError, ValueError, RuntimeError):  # too long, a NUL in it, an unknown user's home
        return None
