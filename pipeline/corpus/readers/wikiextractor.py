"""The output of WikiExtractor for a dump of Wikipedia: a folder of `AA/wiki_00`, `AA/wiki_01` ..., or one such file.

The files contain JSON Lines (`--json`), or `<doc id=... url=... title=...>` and a text up to `</doc>`, whose first line
repeats the title.
"""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from pipeline.corpus.readers import jsonl
from pipeline.corpus.readers.base import LONGEST, NOT_UTF8, PACKED, Reader, ReadLimits, Row, lines, of_shards
from pipeline.corpus.walking import printable, walk

_NAME = re.compile(rf"wiki_\d+({'|'.join(map(re.escape, filter(None, PACKED)))})?")
_UNENDED = "no </doc> ends it"
_OPENING = re.compile(
    r'<doc id="(?P<id>[^"]*+)"(?: (?!url=|title=)\w++="[^"]*+")*+(?: url="(?P<url>[^"]*+)")?'
    r'(?: (?!title=)\w++="[^"]*+")*+ title="(?P<title>.*)"[^"]*>\s*'
)


def is_extracted(file: Path) -> bool:
    return bool(_NAME.fullmatch(file.name))


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    if not path.is_dir():
        return _rows(path, limits)
    files = (file for file in walk(path) if is_extracted(file))
    shards = ((printable(file.relative_to(path).as_posix()), _rows(file, limits)) for file in files)
    return of_shards(path, shards, limits)


def _rows(path: Path, limits: ReadLimits) -> Iterator[Row]:
    first = next((line for line in lines(path, limits) if line is None or line.strip()), b"")
    for row in _documents(path, limits) if first and first.startswith(b"<doc ") else jsonl.read(path, limits):
        # WikiExtractor escapes HTML in a text, and leaves a title escaped as in the XML of the dump.
        unescaped = {n: unescape(text) for n in ("title", "text") if isinstance(text := row.values.get(n), str)}
        yield row._replace(values={**row.values, **unescaped})


def _documents(path: Path, limits: ReadLimits) -> Iterator[Row]:
    opening, text, error, size, place, count = None, list[str](), "", 0, "", 0
    for number, data in enumerate(lines(path, limits), 1):
        line = (data or b"").decode(errors="replace")
        next_opening, ends = _OPENING.fullmatch(line), line.strip() == "</doc>"
        if opening and (next_opening or ends):
            yield _row(place, count, opening, text, error or ("" if ends else _UNENDED))
            opening = None
        if next_opening:
            opening, text, error, size, place, count = next_opening, [], "", 0, f"line {number}", count + 1
        elif opening:
            size += len(line)
            if data is None or size > LONGEST:
                error, text = f"longer than {LONGEST >> 20} MiB", []
            elif "\ufffd" in line and line.encode() != data:
                error = error or NOT_UTF8
            if not error:
                text.append(line)
    if opening:
        yield _row(place, count, opening, text, error or _UNENDED)


def _row(place: str, count: int, opening: re.Match[str], text: list[str], error: str) -> Row:
    body = "\n".join(text).strip().removeprefix(opening["title"]).strip()
    values = {"id": opening["id"], "url": opening["url"] or "", "title": opening["title"], "text": body}
    return Row(place, str(count), values, error)


READER = Reader(read=read)
