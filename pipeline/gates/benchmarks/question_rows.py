"""Files of questions as rows: what stands in them row by row, whatever the fields are called.

`.jsonl`, `.json` (a list, an object of lists or of rows, or lines), `.parquet`, `.arrow` (as `datasets` saves it),
`.csv` and `.tsv` have a row a question, `.txt` a line; those of text may be packed. In a folder all such files count,
in folders within it too, as in a repository of the Hugging Face Hub; of a folder as BEIR's `queries.jsonl` alone.
`hf:ORG/NAME` is such a repository that is fetched first.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from pipeline.corpus import readers
from pipeline.corpus.readers import hf
from pipeline.corpus.readers.base import PACKED, ReadLimits, lines
from pipeline.errors import CorpusError, UsageError
from pipeline.store.files import utf8_path

KINDS = (".jsonl", ".json", ".parquet", ".arrow", ".csv", ".tsv", ".txt")
HUB = "hf:"
"""Before the name of a data set of the Hugging Face Hub."""
QUERIES = "queries"
"""BEIR's file of questions, beside `corpus.jsonl` and the folder `qrels`."""
_NO_QUESTIONS = ("dataset_info", "dataset_infos", "dataset_dict", "state", "readme", "license", "manifest")
"""Files that a repository of questions has beside them."""
_LIMITS = ReadLimits()


def kind(path: Path) -> str:
    """The ending of its name, without that of a packed file."""
    return path.with_suffix("").suffix if path.suffix in PACKED[1:] else path.suffix


def files(path: Path, kinds: tuple[str, ...] = KINDS) -> list[Path]:
    """The file, or those of the folder that are of these kinds, in the order of their names."""
    if not path.is_dir():
        return [path]
    if (path / QUERIES).is_dir():
        return files(path / QUERIES)
    if beir := [one for one in path.glob(f"{QUERIES}.*") if kind(one) in KINDS]:
        return sorted(beir)[:1]
    return sorted(one for one in path.rglob("*") if kind(one) in kinds and one.is_file() and _listed(one, path))


def _listed(path: Path, home: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.relative_to(home).parts)
    return not hidden and path.name.split(".")[0].lower() not in _NO_QUESTIONS


def rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Each row with its place. Raises UsageError where the file cannot be read."""
    try:
        yield from _rows(path)
    except (OSError, ValueError, CorpusError, pa.ArrowException) as error:
        why = str(error).splitlines()[0].removeprefix(f"{path}: ").removeprefix("cannot be read ")
        raise UsageError(f"cannot read {path}: {why}") from error


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    if str(path).startswith(HUB):
        yield from _read("hf", hf.located(str(path).removeprefix(HUB)))
        return
    match kind(path):
        case ".parquet":
            with pq.ParquetFile(utf8_path(path)) as file:
                yield from _numbered(row for batch in file.iter_batches(1024) for row in batch.to_pylist())
        case ".arrow":
            with pa.memory_map(utf8_path(path)) as file:
                yield from _numbered(row for batch in pa.ipc.open_stream(file) for row in batch.to_pylist())
        case ".csv" | ".tsv":
            yield from _read("csv", path)
        case ".json":
            yield from _json(path)
        case ".jsonl":
            # Some lists are named so, too.
            yield from _json(path) if _text(path)[:1] == "[" else _read("jsonl", path)
        case _:
            # Not `splitlines`: text may hold U+2028, at which no line ends.
            for number, line in enumerate(_text(path).split("\n"), 1):
                if line.strip() and not line.startswith("#"):
                    yield f"line {number}", {"question": line}


def _numbered(values: Iterator[Any]) -> Iterator[tuple[str, Any]]:
    return ((f"row {number}", row) for number, row in enumerate(values, 1))


def _read(reader: str, path: Path) -> Iterator[tuple[str, Any]]:
    """As the corpus reader of that name reads it; but a row that is none ends it."""
    for row in readers.rows(reader, path, _LIMITS):
        if row.error:
            raise UsageError(f"{path}, {row.place}: {row.error}")
        yield row.place, row.values


def _json(path: Path) -> Iterator[tuple[str, Any]]:
    text = _text(path)
    try:
        whole = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        # A file of lines, by the wrong name.
        with suppress(orjson.JSONDecodeError):
            yield from _numbered(iter([orjson.loads(line) for line in text.split("\n") if line.strip()]))
            return
        raise UsageError(f"{path}: not JSON: {error}") from error
    if isinstance(whole, dict):
        lists = [row for value in whole.values() if isinstance(value, list) for row in value if isinstance(row, dict)]
        named = [row for row in whole.values() if isinstance(row, dict)]
        whole = lists or (named if len(named) == len(whole) else [whole])
    yield from _numbered(iter(whole) if isinstance(whole, list) else iter([whole]))


def _text(path: Path) -> str:
    return b"\n".join(line or b"" for line in lines(path, _LIMITS)).decode().strip()
