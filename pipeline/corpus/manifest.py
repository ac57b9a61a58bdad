"""The description of a corpus and its source.

It is a TOML file in `corpora/`, or a path, the `corpus.toml` beside it and the user's options.
"""

import re
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BeforeValidator, Field, ValidationError

from pipeline.config import CorpusConfig, toml
from pipeline.config.load import config_error
from pipeline.config.run import ADDRESSED, Chunks, slug
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
LONGEST_CHUNK = 10_000
"""Most characters of a passage that is not cut: an agent reads several with each search."""


Names = Annotated[tuple[str, ...], BeforeValidator(lambda value: (value,) if isinstance(value, str) else value)]
"""One or several names of fields. The first field that a row has counts."""


class Fields(Data):
    """The names of the fields that hold the parts of a document."""

    id: str = "id"
    title: tuple[str, ...] = Field(("title",), min_length=1)
    """The first field names the entity; later ones follow in brackets, as in "Algeria (Geography)"."""
    text: str = "text"
    url: str = "url"
    date: Names = ("published", "published_at", "publishedAt", "publication_date", "publish_date", "pub_date")
    """The date of publication, shown with each passage. A field `date` is not used: it may be the time of a crawl."""
    source: Names = ("publisher",)
    """The publisher, shown with each passage. A field `source` is not used: it may be the name of a collection."""


class Description(Data):
    """Facts about a corpus that do not depend on its location: the keys of `corpus.toml`."""

    licence: str = "unknown"
    """An SPDX expression."""
    attribution: str = "unknown"
    language: Annotated[
        str, matching(r"unknown|[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", "must be a code such as en or pt-BR, or unknown")
    ] = "unknown"
    """A code such as `en` or `pt-BR`."""
    as_of: AsOf = ""
    """The date whose state of the world the texts describe; empty if unknown."""
    chunks: Chunks = "split"
    """Whether texts are cut into passages. `as-is`: each row or file is one passage."""
    redistribute: Literal["full", "spans", "ids", "unknown"] = "unknown"
    """How much of the text may be redistributed."""
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
    def longest(self) -> int:
        """Return the most characters of a document that is read."""
        return min(self.limits.doc_chars, LONGEST_CHUNK) if self.chunks == "as-is" else self.limits.doc_chars

    @property
    def remote(self) -> bool:
        """Return whether the source is a name that only its reader can resolve."""
        return self.reader == "hf" and not self.source.is_absolute()

    @property
    def address(self) -> str:
        """Return the argument with which `resolve` returns this corpus without a manifest."""
        return f"{self.reader}:{self.path}" if ADDRESSED.match(f"{self.reader}:") else str(self.path)


def names() -> list[str]:
    return sorted(path.stem for path in ROOT.glob("*.toml") if _NAME.fullmatch(path.stem))


def read(name: str) -> Manifest:
    """Read the manifest of a known corpus. Raises CorpusError, naming the key, if it is invalid."""
    path = ROOT / f"{name}.toml"
    manifest = _parse(Manifest, path)
    if manifest.name != name:
        raise CorpusError(f"{path}: its name must be '{name}', not '{manifest.name}'")
    return manifest


def _parse(kind: type[_T], path: Path) -> _T:
    try:
        return kind.model_validate(toml.read(path))
    except UsageError as error:
        raise CorpusError(str(error).replace("cannot read", "cannot read the manifest", 1)) from error
    except ValidationError as error:
        raise CorpusError(f"{path}: {config_error(kind, error.errors()[0])}") from error


def resolve(name_or_path: str, **options: str | None) -> Manifest:
    """Return the manifest of a known corpus, or build one from a path, its `corpus.toml` and the options, which win.

    Args:
        name_or_path: the name of a known corpus, a path or an address.
        **options: fields of `CorpusConfig`.

    Raises:
        UsageError: if there are options for a known corpus, whose manifest states everything.
    """
    settings = CorpusConfig(name=name_or_path, **options)
    field_options = {"id": settings.id_field, "title": (settings.title_field,), "text": settings.text_field}
    fields = {name: value for name, value in field_options.items() if value != getattr(Fields(), name)}
    facts = settings.model_dump(include={"language", "licence", "attribution", "as_of", "chunks"}, exclude_none=True)
    if _NAME.fullmatch(name_or_path) and name_or_path in names():
        if fields:
            raise UsageError(f"the manifest of '{name_or_path}' names its fields: leave out --text-field and the like")
        if facts:
            raise UsageError(f"the manifest of '{name_or_path}' says its {', '.join(facts)}: leave out these options")
        return read(name_or_path)
    reader, source = _find_source(name_or_path)
    description = _read_description(reader, source)
    all_fields = Fields() if reader in readers.TEXTS else description.fields.model_copy(update=fields)
    values = description.model_dump() | facts | {"fields": all_fields}
    try:
        return Manifest(name=slug(str(source)), reader=reader, source=source, **values)
    except ValidationError as error:
        # All other values are valid already.
        raise UsageError(f"--language takes a code such as en, de or pt-BR, not '{settings.language}'") from error


def _read_description(reader: str, source: Path) -> Description:
    """Read the `corpus.toml` in a folder or beside a file, if any. Raises CorpusError, naming an invalid key."""
    if reader == "hf":
        source = Path(hf.parse_address(str(source)).name)
    path = (source if source.is_dir() else source.parent) / BESIDE
    # The name of a data set on the Hub is not a path.
    return _parse(Description, path) if source.is_absolute() and path.is_file() else Description()


def _find_source(name_or_path: str) -> tuple[str, Path]:
    """Return the reader and the source: an absolute path, or the name of a data set on the Hub."""
    if address := ADDRESSED.fullmatch(name_or_path):
        if address[1] == "lucene":
            folder = _find_path(address[2])
            if folder is None or not lucene.is_index(folder):
                raise UsageError(
                    f"{name_or_path[:80]!r}: no index of Lucene there; give the folder that holds segments_N"
                )
            return "lucene", folder
        try:
            return "hf", hf.locate(address[2])
        except (OSError, ValueError, RuntimeError) as error:  # as in `_find_path`
            raise UsageError(f"{name_or_path[:80]!r}: {error}") from error
    path = _find_path(name_or_path)
    if path is None and re.search(r"[/.~]", name_or_path):
        raise CorpusError(f"{name_or_path!r}: no such file or folder; known corpora: {', '.join(names())}")
    if path is None:
        raise unknown("corpus", name_or_path, names(), more=f"; or give the path of {readers.TAKEN}")
    return readers.for_path(path), path


def _find_path(text: str) -> Path | None:
    """Return the absolute path of a file or folder that exists.

    Links to files are not resolved: the target may have another suffix, as in the Hub's own cache.
    """
    try:
        path = Path(text).expanduser()
        if not text or not path.exists():
            return None
        return path.resolve() if path.is_dir() else path.absolute()
    except (OSError, ValueError, RuntimeError):  # too long, a NUL in it, an unknown user's home
        return None
