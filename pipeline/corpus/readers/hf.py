"""`hf:ORG/NAME[:config][@revision]`: all splits of a data set on the Hugging Face Hub, or of a folder in its layout.

`datasets` lists the files of the configuration, and downloads each into the Hub's own cache when it is needed. Files of
a format with a reader here are read by that reader, so that they give the same documents as without the Hub;
`datasets` streams all others.

If the configurations are those of a benchmark (corpus, queries and judgements), the corpus is read.

A card may name any file as data. Only files inside the folder, or on the Hub, are read.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from pipeline.corpus import front_matter
from pipeline.corpus.readers.base import Reader, ReadLimits, Row, load_reader, of_shards
from pipeline.corpus.walking import is_corpus, is_questions
from pipeline.errors import CorpusError, UsageError, first_line

_READERS = {"csv": "csv", "json": "jsonl", "parquet": "parquet"}
"""Readers by the name of the builder of `datasets`."""
_ADDRESS = re.compile(r"(?P<name>[^:@]+)(?::(?P<config>[^:@/]+))?(?:@(?P<revision>[^:@]+))?")
_REPOSITORY = re.compile(r"[\w.-]+(?:/[\w.-]+)?")
_CARDS, _CARD_BYTES = ("README.md", ".huggingface.yaml"), 4 << 20
_BATCH = 256


class _Built(NamedTuple):
    builder: Any
    files: list[str]
    note: str
    """The chosen configuration, if the user named none of several."""


class Address(NamedTuple):
    name: str
    config: str | None
    revision: str | None


def locate(address: str) -> Path:
    """Return the address as a path, which is absolute if it names a folder.

    Raises:
        UsageError: if it is not an address.
    """
    if address and (path := Path(address).expanduser()).is_dir():
        return path.resolve()
    name, *_ = parse_address(address)
    if (folder := Path(name).expanduser()).is_dir():
        return Path(f"{folder.resolve()}{address.removeprefix(name)}")
    if not _REPOSITORY.fullmatch(name) or name.startswith("."):
        raise CorpusError(f"hf:{address}: no such folder")
    return Path(address)


def parse_address(address: str) -> Address:
    if address and Path(address).is_dir():
        return Address(address, None, None)
    if not (match := _ADDRESS.fullmatch(address)):
        raise UsageError(f"no data set 'hf:{address}'; give hf:ORG/NAME, hf:ORG/NAME:CONFIG or hf:ORG/NAME@REVISION")
    return Address(**match.groupdict())


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    with _errors(path):
        yield from _rows(path, limits)


def files(path: Path) -> list[str]:
    """Return the files of a data set on the Hub. Their names include the commit."""
    with _errors(path):
        return _build(path).files


@contextmanager
def _errors(path: Path) -> Iterator[None]:
    import httpx2
    from datasets.exceptions import DatasetsError

    try:
        yield
    except (OSError, ValueError, TypeError, KeyError, AttributeError, DatasetsError, httpx2.HTTPError) as error:
        # A card may contain anything, and `datasets` checks few of its types.
        raise CorpusError(f"hf:{path}: {first_line(error)}") from error


def _build(path: Path) -> _Built:
    import datasets

    name, config, revision = parse_address(str(path))
    if (folder := Path(name)).is_absolute():
        _check_cards(folder)
    note = ""
    if config is None:
        config, note = _choose_configuration(name, datasets.get_dataset_config_names(name, revision=revision))
    builder = datasets.load_dataset_builder(name, config, revision=revision)
    files = [str(file) for files in builder.config.data_files.values() for file in files]
    if outside := next((file for file in files if not _belongs(file, name)), None):
        raise _outside(outside, name)
    return _Built(builder, files, note)


def _choose_configuration(name: str, configurations: list[str]) -> tuple[str | None, str]:
    """Return the configuration to read, or None for the default of `datasets`, and a note about it.

    Raises:
        CorpusError: if the user has to choose one of several; it names all.
    """
    corpora = [configuration for configuration in configurations if is_corpus(configuration)]
    is_benchmark = any(map(is_questions, configurations))
    if is_benchmark and len(corpora) == 1:
        unread = ", ".join(configuration for configuration in configurations if configuration != corpora[0])
        return corpora[0], f"rows are of the configuration {corpora[0]}; not read: {unread}"
    if len(configurations) > 1 and ("default" not in configurations or (is_benchmark and corpora)):
        addresses = ", ".join(f"hf:{name}:{configuration}" for configuration in corpora or configurations)
        raise CorpusError(f"hf:{name}: has several configurations; give one of {addresses}")
    return None, ""


def _check_cards(folder: Path) -> None:
    """Raise CorpusError if a card of a folder names data outside it, or cannot be read in bounded time.

    `datasets` would read such data.
    """
    from huggingface_hub.repocard import REGEX_YAML_BLOCK

    for name in _CARDS:
        path = folder / name
        if not path.exists():
            continue
        if path.stat().st_size > _CARD_BYTES:
            raise CorpusError(f"{path}: longer than {_CARD_BYTES >> 20} MiB; shorten it, or name a file of data")
        text = path.read_bytes().decode()
        block = REGEX_YAML_BLOCK.search(text)
        source = text if name.endswith(".yaml") else block[2] if block else ""
        try:
            card = front_matter.yaml(source, strict=True)
        except ValueError as error:
            raise CorpusError(f"{path}: {error}; correct it, or name a file of data") from error
        for pattern in _patterns(card):
            if "://" in pattern or "::" in pattern or Path(pattern).is_absolute() or ".." in Path(pattern).parts:
                raise _outside(pattern, str(folder))


def _patterns(card: Any) -> Iterator[str]:
    """Yield all texts under `configs` that name files and folders of data."""
    pending = [card.get("configs")] if isinstance(card, dict) else []
    while pending:
        match pending.pop():
            case str(text):
                yield text
            case dict(values):
                pending += (value for key, value in values.items() if key in {"data_files", "data_dir", "path"})
            case list(values):
                pending += values


def _belongs(file: str, name: str) -> bool:
    if (folder := Path(name)).is_absolute():
        return "://" not in file and Path(file).resolve().is_relative_to(folder.resolve())
    return file.startswith("hf://datasets/")  # the Hub may use another name for it


def _outside(file: str, name: str) -> CorpusError:
    return CorpusError(f"hf:{name}: names {file!r} as its data; only files of the data set itself are read")


def _rows(path: Path, limits: ReadLimits) -> Iterator[Row]:
    import datasets

    name = parse_address(str(path)).name
    builder, data_files, note = _build(path)
    reader = load_reader(_READERS[builder.name]) if builder.name in _READERS else None
    if reader and all(file.lower().endswith(reader.suffixes) and _keeps_name(file) for file in data_files):
        fetch = datasets.DownloadManager().download
        shards = ((_relative_name(file, name), reader.read(Path(fetch(file)), limits)) for file in data_files)
    else:
        streams = builder.as_streaming_dataset()
        shards = ((split, _stream_rows(stream)) for split, stream in streams.items())
    for row in of_shards(path, shards, limits):
        yield row._replace(note=row.note or note)


def _keeps_name(file: str) -> bool:
    """Return whether a file has the same name after its download."""
    return "://" not in file or file.startswith("hf://")


def _relative_name(file: str, name: str) -> str:
    """Return for example `data/a.parquet` for `hf://datasets/ORG/NAME@COMMIT/data/a.parquet`."""
    if file.startswith("hf://"):
        return file.partition("@")[2].partition("/")[2]
    return Path(file).relative_to(name).as_posix()


def _stream_rows(stream: Any) -> Iterator[Row]:
    from pipeline.corpus.readers import parquet

    number = 0
    for table in stream.with_format("arrow").iter(_BATCH):
        for values in parquet.plain_rows(table):
            number += 1
            yield Row(f"row {number}", str(number), values)


READER = Reader(read=read)
