"""Reads files of questions row by row, whatever their fields are called.

`.jsonl`, `.json` (a list, an object of lists or of rows, or lines), `.parquet`, `.arrow` (as `datasets` saves it),
`.csv` and `.tsv` have one question in a row, `.txt` one in a line; text files may be compressed. A folder stands for
all such files in it and in its subfolders, as in a repository of the Hugging Face Hub; a folder in BEIR's layout for
its `queries.jsonl` alone. `hf:ORG/NAME` is such a repository, which is downloaded first.
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
"""The prefix of the name of a data set on the Hugging Face Hub."""
QUERIES = "queries"
"""BEIR's file of questions, beside `corpus.jsonl` and the folder `qrels`."""
_NO_QUESTIONS = ("dataset_info", "dataset_infos", "dataset_dict", "state", "readme", "license", "manifest")
"""Other files in a repository of questions."""
_LIMITS = ReadLimits()


def kind(path: Path) -> str:
    """Return the suffix of the file, without that of its compression."""
    return path.with_suffix("").suffix if path.suffix in PACKED[1:] else path.suffix


def files(path: Path, kinds: tuple[str, ...] = KINDS) -> list[Path]:
    if not path.is_dir():
        return [path]
    if (path / QUERIES).is_dir():
        return files(path / QUERIES)
    if beir := [file for file in path.glob(f"{QUERIES}.*") if kind(file) in KINDS]:
        return sorted(beir)[:1]
    files_in_folder = (file for file in path.rglob("*") if kind(file) in kinds and file.is_file())
    return sorted(file for file in files_in_folder if _may_have_questions(file, path))


def _may_have_questions(path: Path, folder: Path) -> bool:
    is_hidden = any(part.startswith(".") for part in path.relative_to(folder).parts)
    return not is_hidden and path.name.split(".")[0].lower() not in _NO_QUESTIONS


def rows(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield each row with its position. Raises UsageError if the file cannot be read."""
    try:
        yield from _rows(path)
    except (OSError, ValueError, CorpusError, pa.ArrowException) as error:
        why = str(error).splitlines()[0].removeprefix(f"{path}: ").removeprefix("cannot be read ")
        raise UsageError(f"cannot read {path}: {why}") from error


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    if str(path).startswith(HUB):
        yield from _read("hf", hf.locate(str(path).removeprefix(HUB)))
        return
    match kind(path):
        case ".parquet":
            with pq.ParquetFile(utf8_path(path)) as file:
                yield from _number_rows(row for batch in file.iter_batches(1024) for row in batch.to_pylist())
        case ".arrow":
            with pa.memory_map(utf8_path(path)) as file:
                yield from _number_rows(row for batch in pa.ipc.open_stream(file) for row in batch.to_pylist())
        case ".csv" | ".tsv":
            yield from _read("csv", path)
        case ".json":
            yield from _json(path)
        case ".jsonl":
            # Some files with this suffix hold a JSON list.
            yield from _json(path) if _text(path)[:1] == "[" else _read("jsonl", path)
        case _:
            # Not `splitlines`, which also breaks lines at U+2028.
            for number, line in enumerate(_text(path).split("\n"), 1):
                if line.strip() and not line.startswith("#"):
                    yield f"line {number}", {"question": line}


def _number_rows(values: Iterator[Any]) -> Iterator[tuple[str, Any]]:
    return ((f"row {number}", row) for number, row in enumerate(values, 1))


def _read(reader: str, path: Path) -> Iterator[tuple[str, Any]]:
    """Read with the corpus reader of that name, but raise UsageError at a bad row."""
    for row in readers.rows(reader, path, _LIMITS):
        if row.error:
            raise UsageError(f"{path}, {row.place}: {row.error}")
        yield row.place, row.values


def _json(path: Path) -> Iterator[tuple[str, Any]]:
    text = _text(path)
    try:
        content = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        # Some files with this suffix hold JSON lines.
        with suppress(orjson.JSONDecodeError):
            yield from _number_rows(iter([orjson.loads(line) for line in text.split("\n") if line.strip()]))
            return
        raise UsageError(f"{path}: not JSON: {error}") from error
    if isinstance(content, dict):
        listed = [row for rows in content.values() if isinstance(rows, list) for row in rows if isinstance(row, dict)]
        keyed = [row for row in content.values() if isinstance(row, dict)]
        content = listed or (keyed if len(keyed) == len(content) else [content])
    yield from _number_rows(iter(content) if isinstance(content, list) else iter([content]))


def _text(path: Path) -> str:
    return b"\n".join(line or b"" for line in lines(path, _LIMITS)).decode().strip()
