"""What a corpus is and where it comes from: a TOML file in `corpora/`, or a bare path, the `corpus.toml` that lies
beside it and what the user says of it.
"""

import re
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BeforeValidator, Field, ValidationError

from pipeline.config import CorpusConfig, toml
from pipeline.config.config_errors import config_error
from pipeline.config.corpus_name import ADDRESSED, slug
from pipeline.corpus import readers
from pipeline.corpus.readers import hf, lucene
from pipeline.corpus.readers.base import ReadLimits
from pipeline.corpus.unreadable_files import BESIDE
from pipeline.errors import CorpusError, UsageError, unknown
from pipeline.store.shipped_folders import folder
from pipeline.types import AsOf, Data
from pipeline.types.data import matching

ROOT = folder("corpora")
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_T = TypeVar("_T", bound=Data)


Names = Annotated[tuple[str, ...], BeforeValidator(lambda given: (given,) if isinstance(given, str) else given)]
"""Fields of which the first counts that a row has: one name or several."""


class Fields(Data):
    """How the corpus calls the parts of a document."""

    id: str = "id"
    title: tuple[str, ...] = Field(("title",), min_length=1)
    """The first names the entity; later ones follow in brackets, as in "Algeria (Geography)"."""
    text: str = "text"
    url: str = "url"
    date: Names = ("published", "published_at", "publishedAt", "publication_date", "publish_date", "pub_date")
    """When a document was published; shown with each of its passages. A field `date` may be the time of a crawl."""
    source: Names = ("publisher",)
    """Who published it; shown with each of its passages. A field `source` may be the name of a collection."""


class Description(Data):
    """What can be said of a corpus wherever it lies; `corpus.toml` holds these keys."""

    licence: str = "unknown"
    """An SPDX expression."""
    attribution: str = "unknown"
    language: Annotated[
        str, matching(r"unknown|[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", "must be a code such as en or pt-BR, or unknown")
    ] = "unknown"
    """A code such as `en` or `pt-BR`."""
    as_of: AsOf = ""
    """Whose state of the world the texts describe; empty where nobody said it."""
    redistribute: Literal["full", "spans", "ids", "unknown"] = "unknown"
    """How much of the text may be passed on."""
    fields: Fields = Fields()
    limits: ReadLimits = ReadLimits()


class Manifest(Description):
    name: Annotated[str, matching(_NAME.pattern, "must be of small letters, digits, - and _, 64 at most")]
    reader: str
    source: Path
    """A relative path is relative to the folder of the manifests. The source of `hf` may be a name on the Hub."""
    sha256: Annotated[str, matching(r"([0-9a-f]{64})?", "must be 64 hexadecimal digits")] = ""
    """Empty: not checked. A folder has none."""

    @property
    def path(self) -> Path:
        return self.source if self.source.is_absolute() or self.remote else ROOT / self.source

    @property
    def remote(self) -> bool:
        """Is the source a name that only its reader can look up?"""
        return self.reader == "hf" and not self.source.is_absolute()

    @property
    def address(self) -> str:
        """What `resolve` takes for a corpus without a manifest."""
        return f"{self.reader}:{self.path}" if ADDRESSED.match(f"{self.reader}:") else str(self.path)


def names() -> list[str]:
    """Every corpus with a manifest."""
    return sorted(path.stem for path in ROOT.glob("*.toml") if _NAME.fullmatch(path.stem))


def read(name: str) -> Manifest:
    """The manifest of a known corpus. Raises CorpusError, naming the key, where it is not as it should be."""
    path = ROOT / f"{name}.toml"
    manifest = _parsed(Manifest, path)
    if manifest.name != name:
        raise CorpusError(f"{path}: its name must be '{name}', not '{manifest.name}'")
    return manifest


def _parsed(kind: type[_T], path: Path) -> _T:
    try:
        return kind.model_validate(toml.read(path))
    except UsageError as error:
        raise CorpusError(str(error).replace("cannot read", "cannot read the manifest", 1)) from error
    except ValidationError as error:
        raise CorpusError(f"{path}: {config_error(kind, error.errors()[0])}") from error


def resolve(name_or_path: str, **said_of_it: str | None) -> Manifest:
    """The manifest of a known name, or one made for any other source by its `corpus.toml` and by what is said of it,
    which wins; the rest is unknown.

    What can be said are the fields of `CorpusConfig`.
    Raises UsageError where something is said of a known corpus, whose manifest says it all.
    """
    given = CorpusConfig(name=name_or_path, **said_of_it)
    named = {"id": given.id_field, "title": (given.title_field,), "text": given.text_field}
    fields = {name: value for name, value in named.items() if value != getattr(Fields(), name)}
    said = given.model_dump(include={"language", "licence", "attribution", "as_of"}, exclude_none=True)
    if _NAME.fullmatch(name_or_path) and name_or_path in names():
        if fields:
            raise UsageError(f"the manifest of '{name_or_path}' names its fields: leave out --text-field and the like")
        if said:
            raise UsageError(f"the manifest of '{name_or_path}' says its {', '.join(said)}: leave out these options")
        return read(name_or_path)
    reader, source = _source(name_or_path)
    description = _described(reader, source)
    known = Fields() if reader in readers.TEXTS else description.fields.model_copy(update=fields)
    values = description.model_dump() | said | {"fields": known}
    try:
        return Manifest(name=slug(str(source)), reader=reader, source=source, **values)
    except ValidationError as error:
        # Nothing else of it can be wrong.
        raise UsageError(f"--language takes a code such as en, de or pt-BR, not '{given.language}'") from error


def _described(reader: str, source: Path) -> Description:
    """What the `corpus.toml` in a folder, or beside a file, says. Raises CorpusError, naming the key that is wrong."""
    if reader == "hf":
        source = Path(hf.parsed(str(source)).name)
    path = (source if source.is_dir() else source.parent) / BESIDE
    # The name of a data set on the Hub is no path of this machine.
    return _parsed(Description, path) if source.is_absolute() and path.is_file() else Description()


def _source(name_or_path: str) -> tuple[str, Path]:
    """The reader and, where it is on this machine, the absolute path."""
    if addressed := ADDRESSED.fullmatch(name_or_path):
        if addressed[1] == "lucene":
            folder = _existing(addressed[2])
            if folder is None or not lucene.is_index(folder):
                raise UsageError(
                    f"{name_or_path[:80]!r}: no index of Lucene there; give the folder that holds segments_N"
                )
            return "lucene", folder
        try:
            return "hf", hf.located(addressed[2])
        except (OSError, ValueError, RuntimeError) as error:  # as in `_existing`
            raise UsageError(f"{name_or_path[:80]!r}: {error}") from error
    path = _existing(name_or_path)
    if path is None and re.search(r"[/.~]", name_or_path):
        raise CorpusError(f"{name_or_path!r}: no such file or folder; known corpora: {', '.join(names())}")
    if path is None:
        raise unknown("corpus", name_or_path, names(), more=f"; or give the path of {readers.TAKEN}")
    return readers.for_path(path), path


def _existing(text: str) -> Path | None:
    """Absolute. A file's link is not followed: what it leads to may have another ending, as in the Hub's own cache."""
    try:
        path = Path(text).expanduser()
        if not text or not path.exists():
            return None
        return path.resolve() if path.is_dir() else path.absolute()
    except (OSError, ValueError, RuntimeError):  # too long, a NUL in it, an unknown user's home
        return None
