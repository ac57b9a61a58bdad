"""CSV and TSV with a heading row, plain or packed; quoted cells may hold line breaks.

The cells of a `.csv` are parted by whichever of comma, semicolon and tab its heading has most of. A row of another
number of cells than the heading is a bad row. A quote that nothing closes takes in at most 32 MiB, which are one bad
row.
"""

import csv
from collections.abc import Iterator
from pathlib import Path

from pipeline.corpus.readers.base import LONGEST, PACKED, ReadLimits, Row, lines
from pipeline.errors import CorpusError

SUFFIXES = tuple(kind + packed for kind in (".csv", ".tsv") for packed in PACKED)


def read(path: Path, limits: ReadLimits) -> Iterator[Row]:
    source = _Lines(path, limits)
    # Of all readers in this process: the limit that counts is that of the bytes of a row.
    csv.field_size_limit(LONGEST)
    try:
        first = next(source)
    except StopIteration:
        return
    except csv.Error as error:
        raise CorpusError(f"{path}: its heading is {error}") from error
    tabs = any(suffix.lower() == ".tsv" for suffix in path.suffixes)
    delimiter = "\t" if tabs else max(",;\t", key=first.count)
    heading = next(csv.reader([first], delimiter=delimiter))
    cells = csv.reader(source, delimiter=delimiter, strict=True)
    number = 0
    while True:
        place = f"line {source.number + 1}"
        source.row = 0
        try:
            row = next(cells)
        except StopIteration:
            return
        except csv.Error as error:
            number += 1
            yield Row(place, str(number), {}, str(error))
            continue
        if row:
            number += 1
            wrong = f"{len(row)} cells, where the heading has {len(heading)}" if len(row) != len(heading) else ""
            yield Row(place, str(number), dict(zip(heading, row, strict=False)), wrong)


class _Lines(Iterator[str]):
    """The lines as text. After an error, which `csv` passes on, the next call goes on with the next line."""

    def __init__(self, path: Path, limits: ReadLimits) -> None:
        self._lines = lines(path, limits)
        self.number = 0
        self.row = 0
        """Bytes of the row so far."""

    def __next__(self) -> str:
        line = next(self._lines)
        self.number += 1
        self.row += len(line or b"") + 1
        if line is None or self.row > LONGEST:
            raise csv.Error(f"longer than {LONGEST >> 20} MiB")
        try:
            return line.decode() + "\n"
        except UnicodeDecodeError as error:
            raise csv.Error("not UTF-8; save the file as UTF-8") from error
