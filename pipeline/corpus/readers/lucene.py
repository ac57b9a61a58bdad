"""`lucene:PATH`: a Lucene index of Anserini or Pyserini, whose stored texts are the documents.

If the stored `raw` is a JSON object, its fields are read, and the stored `contents` unless it has a field of that name.
The id is that of the index. Deleted documents are skipped.
"""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from pipeline.corpus import jvm
from pipeline.corpus.readers.base import LONGEST, ReadBytes, Reader, ReadLimits, Row
from pipeline.errors import CorpusError, RetrievalError

_BATCH = 1000
_MISSING = "neither raw nor contents are stored; build the index with --storeRaw"
_Stored = tuple[str | None, str | None, str | None]


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    characters = ReadBytes(path, limits)
    try:
        reader, documents = jvm.call(_open, path)
        for start in range(0, documents, _BATCH):
            numbers = range(start, min(start + _BATCH, documents))
            for number, stored in zip(numbers, jvm.call(_read_stored, reader, numbers), strict=True):
                if stored is None:
                    continue
                characters.add(sum(map(len, filter(None, stored))))
                yield _row(number, *stored)
        jvm.call(reader.close)
    except RetrievalError as error:
        raise CorpusError(f"lucene:{path}: {error}") from error


def is_index(folder: Path) -> bool:
    return any(folder.glob("segments_*"))


def _open(path: Path) -> tuple[Any, int]:
    jvm.start()
    reader = jvm.java("io.anserini.index.IndexReaderUtils").getReader(jvm.java_path(path))
    return reader, reader.maxDoc()


def _read_stored(reader: Any, numbers: range) -> list[_Stored | None]:
    live = jvm.java("org.apache.lucene.index.MultiBits").getLiveDocs(reader)
    fields = reader.storedFields()
    rows: list[_Stored | None] = []
    for number in numbers:
        if live is not None and not live.get(number):
            rows.append(None)
            continue
        document = fields.document(number)
        rows.append((document.get("id"), document.get("raw"), document.get("contents")))
    return rows


def _row(number: int, key: str | None, raw: str | None, contents: str | None) -> Row:
    row = partial(Row, f"document {number}", key or str(number))
    if raw is None and contents is None:
        return row({}, _MISSING)
    if max(len(raw or ""), len(contents or "")) > LONGEST:
        return row({}, f"longer than {LONGEST >> 20} MiB")
    values: Any = None
    with suppress(orjson.JSONDecodeError):
        values = orjson.loads(raw) if raw is not None else {}
    if not isinstance(values, dict):
        if contents is None:
            return row({}, "its raw text is not a JSON object, and contents are not stored")
        values = {}
    if "contents" not in values and contents is not None:
        values = {**values, "contents": contents}
    return row(values | ({"id": key} if key else {}))


READER = Reader(read=read)
