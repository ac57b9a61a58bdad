"""CSV and TSV, plain or compressed, with or without a heading row.

The delimiter of a `.csv` is the most frequent of comma, semicolon, tab and bar in its heading, or the one in Excel's
first line `sep=;`. Quoted cells may contain line breaks. A quotation without an end takes in at most 32 MiB, which are
one bad row.

Cells between tabs are seldom quoted, and a text may well begin with a quotation: a cell counts as quoted only if all of
it is, with inner quotes doubled. It spans several lines only if those lines are not rows themselves.

A row with another number of cells than the first is a bad row.
"""

import csv
import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from pipeline.corpus.readers.base import LONGEST, NOT_UTF8, PACKED, Reader, ReadLimits, Row, lines
from pipeline.errors import CorpusError

SPANNING = "rows span several lines, in quotes"
_INSIDE = r'[^"]*(?:""[^"]*)*'
_QUOTED = re.compile(f'"{_INSIDE}"')
_TABBED = re.compile(rf'("{_INSIDE}"(?=\t|\Z)|[^\t]*)(?:\t|\Z)')
_OPENED = re.compile(rf'(?:\A|\t)"{_INSIDE}\Z')
_CLOSED = re.compile(rf'{_INSIDE}"(?=\t|\Z)')
_SEPARATOR = re.compile(r"sep=(.)\s*", re.IGNORECASE)
_NUMBER = re.compile(r"[-+]?[\d.,]*\d")
_USUAL = {"id", "_id", "docid", "pid", "title", "text", "contents", "url"}
_T = TypeVar("_T")
_NAME = 80
"""The most characters of the name of a column."""
_SAMPLED = 20


class _Cells(NamedTuple):
    line: int
    """The number of the first line."""
    lines: int
    cells: list[str]
    error: str = ""


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    source = _Lines(path, limits)
    # For all readers of this process; the limit that matters is that of the bytes of a row.
    csv.field_size_limit(LONGEST)
    try:
        first = next(line for line in source if line.strip())
        if separator := _SEPARATOR.fullmatch(first):
            first = next(source)
    except StopIteration:
        return
    except csv.Error as error:
        raise CorpusError(f"{path}: its heading is {error}") from error
    source.give_back(first)
    delimiter = separator[1] if separator else max(",;\t|", key=_QUOTED.sub("", first).count)
    if delimiter == "\t" or any(suffix.lower() == ".tsv" for suffix in path.suffixes):
        all_rows = _read_tabbed(source, first.count("\t") + 1)
    else:
        all_rows = _read_delimited(source, delimiter)
    sample = list(islice(all_rows, _SAMPLED))
    if sample and sample[0].error:
        raise CorpusError(f"{path}: its heading is not readable: {sample[0].error}")
    names, note = _names([row.cells for row in sample if not row.error])
    rows = chain(sample if note else sample[1:], all_rows)
    for number, row in enumerate(rows, 1):
        problem = row.error
        if not problem and len(row.cells) != len(names):
            problem = f"{len(row.cells)} cells, where the {'first row' if note else 'heading'} has {len(names)}"
        values = dict(zip(names, row.cells, strict=False))
        yield Row(f"line {row.line}", str(number), values, problem, note or (SPANNING if row.lines > 1 else ""))


def _names(rows: list[list[str]]) -> tuple[list[str], str]:
    """Return the names of the columns, and a note for each row if there is no heading."""
    first = rows[0] if rows else []
    has_heading = _USUAL & {cell.strip().lower() for cell in first} or not (
        first and (_NUMBER.fullmatch(first[0].strip()) or any(len(cell) > _NAME for cell in first))
    )
    if has_heading:
        return first, ""
    columns = dict(enumerate(zip(*(row for row in rows if len(row) == len(first)), strict=True)))
    names = [f"column {number}" for number in range(1, len(first) + 1)]

    def take(name: str, number: int | None) -> None:
        if number is not None:
            names[number] = name
            del columns[number]

    take("text", max(columns, key=lambda number: sum(map(len, columns[number]))))
    take("url", next((n for n, cells in columns.items() if all("://" in cell for cell in cells)), None))
    take("id", next((n for n, cells in columns.items() if not any(" " in cell or not cell for cell in cells)), None))
    take("title", next(iter(columns), None))
    columns_read = ", ".join(names)
    note = f"rows of a table without a heading, read as {columns_read}: put a heading line above them if that is wrong"
    return names, note


def _read_delimited(source: "_Lines", delimiter: str) -> Iterator[_Cells]:
    for line, row, error in _catch_errors(source, csv.reader(source, delimiter=delimiter, strict=True)):
        if row or error:
            yield _Cells(line, 1 if error else source.number + 1 - line, row or [], error)


def _read_tabbed(source: "_Lines", width: int) -> Iterator[_Cells]:
    for line, text, error in _catch_errors(source, source):
        row = (text or "").rstrip("\r\n")
        if '"' in row and _OPENED.search(row):
            yield from _read_spanning(source, row, width)
        elif row or error:
            yield _Cells(line, 1, _split_cells(row, width) if row else [], error)


def _catch_errors(source: "_Lines", rows: Iterator[_T]) -> Iterator[tuple[int, _T | None, str]]:
    """Yield each row with the number of its first line, or with None and the error."""
    while True:
        line, source.row = source.number + 1, 0
        try:
            yield line, next(rows), ""
        except StopIteration:
            return
        except csv.Error as error:
            yield line, None, str(error)


def _read_spanning(source: "_Lines", text: str, width: int) -> Iterator[_Cells]:
    """Yield the row that begins with this line, whose last cell opens a quotation.

    If the quotation does not end, each line is a row.
    """
    line, texts, is_open = source.number, [text], True
    first_is_row = text.count("\t") + 1 == width
    while is_open:
        try:
            text = next(source)
        except (StopIteration, csv.Error):
            break
        end = _CLOSED.match(text.rstrip("\r\n"))
        is_row = text.count("\t") + 1 == width
        if (is_row and (first_is_row or not end)) or ('"' in text.replace('""', "") and not end):
            source.give_back(text)
            break
        texts.append(text.rstrip("\r\n"))
        is_open = not end or bool(_OPENED.search(texts[-1][end.end() :]))
    cells = _split_cells("\n".join(texts), width)
    if not is_open and len(cells) == width:
        yield _Cells(line, len(texts), cells)
    else:
        yield from (_Cells(line + n, 1, _split_cells(row, width)) for n, row in enumerate(texts) if row)


def _split_cells(text: str, width: int) -> list[str]:
    cells = text.split("\t")
    if '"' in text and len(cells) != width:  # a tab may be within quotes
        quoted_cells = [match[1] for match in _TABBED.finditer(text)]
        cells = quoted_cells[:width] if len(quoted_cells) in {width, width + 1} else cells
    return [cell[1:-1].replace('""', '"') if _QUOTED.fullmatch(cell) else cell for cell in cells]


class _Lines(Iterator[str]):
    """The lines as text. After an error, which `csv` passes on, the next call continues with the next line."""

    def __init__(self, path: Path, limits: ReadLimits) -> None:
        self._lines = lines(path, limits)
        self._given_back = ""
        self.number = 0
        self.row = 0
        """The bytes of the row so far."""

    def give_back(self, line: str) -> None:
        """Return this line again on the next call."""
        self._given_back = line
        self.number -= 1

    def __next__(self) -> str:
        if line := self._given_back:
            self._given_back = ""
            self.number += 1
            return line
        data = next(self._lines)
        self.number += 1
        self.row += len(data or b"") + 1
        if data is None or self.row > LONGEST:
            raise csv.Error(f"longer than {LONGEST >> 20} MiB")
        try:
            return data.decode() + "\n"
        except UnicodeDecodeError as error:
            raise csv.Error(NOT_UTF8) from error


READER = Reader(read=read, suffixes=tuple(kind + packed for kind in (".csv", ".tsv") for packed in PACKED))
