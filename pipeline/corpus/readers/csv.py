"""CSV and TSV, plain or packed, with a heading row or without one.

The cells of a `.csv` are parted by whichever of comma, semicolon, tab and bar its heading has most of, or by what
Excel's first line `sep=;` says. Quoted cells may hold line breaks. A quote that nothing closes takes in at most 32 MiB,
which are one bad row.

Cells that are parted by tabs are seldom quoted, and a text may well open with a quotation: a cell is quoted only where
the whole of it is, with its own quotes doubled. It spans lines only where those lines are no rows themselves.

A row of another number of cells than the first is a bad row.
"""

import csv
import re
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from typing import NamedTuple, TypeVar

from pipeline.corpus.readers.base import LONGEST, NOT_UTF8, PACKED, ReadLimits, Row, lines
from pipeline.errors import CorpusError

SUFFIXES = tuple(kind + packed for kind in (".csv", ".tsv") for packed in PACKED)
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
"""Characters that the name of a column may have."""
_SAMPLED = 20


class _Cells(NamedTuple):
    line: int
    """The first one."""
    lines: int
    cells: list[str]
    error: str = ""


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    source = _Lines(path, limits)
    # Of all readers in this process: the limit that counts is that of the bytes of a row.
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
        found = _tabbed(source, first.count("\t") + 1)
    else:
        found = _parted(source, delimiter)
    sample = list(islice(found, _SAMPLED))
    if sample and sample[0].error:
        raise CorpusError(f"{path}: its heading is not readable: {sample[0].error}")
    names, note = _names([row.cells for row in sample if not row.error])
    rows = chain(sample if note else sample[1:], found)
    for number, (line, spanned, cells, wrong) in enumerate(rows, 1):
        why = wrong
        if not wrong and len(cells) != len(names):
            why = f"{len(cells)} cells, where the {'first row' if note else 'heading'} has {len(names)}"
        values = dict(zip(names, cells, strict=False))
        yield Row(f"line {line}", str(number), values, why, note or (SPANNING if spanned > 1 else ""))


def _names(rows: list[list[str]]) -> tuple[list[str], str]:
    """The names of the columns, and what to say of rows that have no heading above them."""
    first = rows[0] if rows else []
    headed = _USUAL & {cell.strip().lower() for cell in first} or not (
        first and (_NUMBER.fullmatch(first[0].strip()) or any(len(cell) > _NAME for cell in first))
    )
    if headed:
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
    taken = ", ".join(names)
    return names, f"rows of a table without a heading, read as {taken}: put a heading line above them if that is wrong"


def _parted(source: "_Lines", delimiter: str) -> Iterator[_Cells]:
    for line, row, error in _each(source, csv.reader(source, delimiter=delimiter, strict=True)):
        if row or error:
            yield _Cells(line, 1 if error else source.number + 1 - line, row or [], error)


def _tabbed(source: "_Lines", width: int) -> Iterator[_Cells]:
    for line, text, error in _each(source, source):
        row = (text or "").rstrip("\r\n")
        if '"' in row and _OPENED.search(row):
            yield from _spanning(source, row, width)
        elif row or error:
            yield _Cells(line, 1, _cells(row, width) if row else [], error)


def _each(source: "_Lines", rows: Iterator[_T]) -> Iterator[tuple[int, _T | None, str]]:
    """Each row with the line that it begins with, or what is wrong with it."""
    while True:
        line, source.row = source.number + 1, 0
        try:
            yield line, next(rows), ""
        except StopIteration:
            return
        except csv.Error as error:
            yield line, None, str(error)


def _spanning(source: "_Lines", text: str, width: int) -> Iterator[_Cells]:
    """The row that begins with this line, whose last cell opens a quotation. Where nothing closes it, each line is a
    row."""
    line, taken, opened = source.number, [text], True
    whole = text.count("\t") + 1 == width
    while opened:
        try:
            text = next(source)
        except (StopIteration, csv.Error):
            break
        closed = _CLOSED.match(text.rstrip("\r\n"))
        row = text.count("\t") + 1 == width
        if (row and (whole or not closed)) or ('"' in text.replace('""', "") and not closed):
            source.give_back(text)
            break
        taken.append(text.rstrip("\r\n"))
        opened = not closed or bool(_OPENED.search(taken[-1][closed.end() :]))
    cells = _cells("\n".join(taken), width)
    if not opened and len(cells) == width:
        yield _Cells(line, len(taken), cells)
    else:
        yield from (_Cells(line + n, 1, _cells(each, width)) for n, each in enumerate(taken) if each)


def _cells(text: str, width: int) -> list[str]:
    cells = text.split("\t")
    if '"' in text and len(cells) != width:  # a tab may be within quotes
        found = [match[1] for match in _TABBED.finditer(text)]
        cells = found[:width] if len(found) in {width, width + 1} else cells
    return [cell[1:-1].replace('""', '"') if _QUOTED.fullmatch(cell) else cell for cell in cells]


class _Lines(Iterator[str]):
    """The lines as text. After an error, which `csv` passes on, the next call goes on with the next line."""

    def __init__(self, path: Path, limits: ReadLimits) -> None:
        self._lines = lines(path, limits)
        self._given_back = ""
        self.number = 0
        self.row = 0
        """Bytes of the row so far."""

    def give_back(self, line: str) -> None:
        """Have it come again."""
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
