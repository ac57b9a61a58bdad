"""JSON Lines, plain or compressed with gzip, zstandard or xz; one object per line, blank lines skipped.

Decompressed bytes are counted while they stream. In a bulk request to Elasticsearch or OpenSearch the lines with an
action for the next line are not rows; the id of such a line is the id of the next row.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson

from pipeline.corpus.readers.base import LONGEST, NOT_UTF8, PACKED, Reader, ReadLimits, Row, lines

_NO_NUMBER = re.compile(rb'(?:[^"]|"(?:[^"\\]|\\.)*+")*?[:\[,]\s*(NaN|-?Infinity)\b.*', re.DOTALL)
_BULK_ACTIONS = {"index", "create", "update", "delete"}
_BULK_KEYS = {
    *("_index", "_type", "_id", "routing", "_routing", "version", "version_type", "retry_on_conflict", "require_alias"),
    *("pipeline", "dynamic_templates", "if_seq_no", "if_primary_term"),
}


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    action: dict[str, Any] = {}
    for number, line in enumerate(lines(path, limits), 1):
        if line is None:
            yield Row(f"line {number}", str(number), {}, f"longer than {LONGEST >> 20} MiB")
        elif line.strip():
            next_row = row(f"line {number}", str(number), line)
            if _is_bulk_action(next_row.values):
                action = next(iter(next_row.values.values()))
                continue
            yield next_row._replace(values={"_id": action["_id"], **next_row.values}) if "_id" in action else next_row
        action = {}


def _is_bulk_action(values: Mapping[str, Any]) -> bool:
    return (
        len(values) == 1
        and not _BULK_ACTIONS.isdisjoint(values)
        and all(isinstance(action, dict) and action.keys() <= _BULK_KEYS for action in values.values())
    )


def row(place: str, key: str, line: bytes) -> Row:
    try:
        values = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        why = f"not JSON: {error}"
        if "UTF-8" in str(error):
            why = NOT_UTF8
        elif odd := _NO_NUMBER.fullmatch(line):
            why = f"not JSON: {odd[1].decode()} is no JSON; write null"
        return Row(place, key, {}, why)
    if isinstance(values, list) and len(values) == 2 and isinstance(values[0], str) and isinstance(values[1], list):
        values = {"title": values[0], "text": values[1]}  # as in HotpotQA's contexts
    if not isinstance(values, dict):
        return Row(place, key, {}, "not a JSON object")
    return Row(place, key, values)


READER = Reader(read=read, suffixes=tuple(kind + packed for kind in (".jsonl", ".ndjson") for packed in PACKED))
