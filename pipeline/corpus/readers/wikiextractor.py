"""What WikiExtractor makes of a dump of Wikipedia: a folder of `AA/wiki_00`, `AA/wiki_01` ..., or one of these files.

They hold JSON Lines (`--json`) or `<doc id=... url=... title=...>` with a text up to `</doc>`, whose first line is the
title again.
"""

import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path

from pipeline.corpus.readers import jsonl
from pipeline.corpus.readers.base import LONGEST, NOT_UTF8, PACKED, ReadLimits, Row, lines, of_shards
from pipeline.corpus.walking import shown, walked

SUFFIXES: tuple[str, ...] = ()
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
    found = ((shown(file.relative_to(path).as_posix()), file) for file in walked(path) if is_extracted(file))
    return of_shards(path, ((name, _rows(file, limits)) for name, file in found), limits)


def _rows(path: Path, limits: ReadLimits) -> Iterator[Row]:
    first = next((line for line in lines(path, limits) if line is None or line.strip()), b"")
    for row in _documents(path, limits) if first and first.startswith(b"<doc ") else jsonl.read(path, limits):
        # It escapes what HTML would take for marks in a text, and leaves a title as it stands in the dump's XML.
        told = {name: unescape(text) for name in ("title", "text") if isinstance(text := row.values.get(name), str)}
        yield row._replace(values={**row.values, **told})


def _documents(path: Path, limits: ReadLimits) -> Iterator[Row]:
    opening, text, wrong, size, place, count = None, list[str](), "", 0, "", 0
    for number, data in enumerate(lines(path, limits), 1):
        line = (data or b"").decode(errors="replace")
        found, ends = _OPENING.fullmatch(line), line.strip() == "</doc>"
        if opening and (found or ends):
            yield _row(place, count, opening, text, wrong or ("" if ends else _UNENDED))
            opening = None
        if found:
            opening, text, wrong, size, place, count = found, [], "", 0, f"line {number}", count + 1
        elif opening:
            size += len(line)
            if data is None or size > LONGEST:
                wrong, text = f"longer than {LONGEST >> 20} MiB", []
            elif "\ufffd" in line and line.encode() != data:
                wrong = wrong or NOT_UTF8
            if not wrong:
                text.append(line)
    if opening:
        yield _row(place, count, opening, text, wrong or _UNENDED)


def _row(place: str, count: int, opening: re.Match[str], text: list[str], wrong: str) -> Row:
    body = "\n".join(text).strip().removeprefix(opening["title"]).strip()
    values = {"id": opening["id"], "url": opening["url"] or "", "title": opening["title"], "text": body}
    return Row(place, str(count), values, wrong)
