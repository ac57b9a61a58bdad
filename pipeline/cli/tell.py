"""What reaches a person or a script: text on stderr or stdout, JSON on stdout only.

Corpus and model text is hostile: it is cleaned of terminal escapes and never read as markup. Where stdout is closed
early (`digsite inspect latest | head`) the process ends quietly, with the code that SIGPIPE would give it.
"""

import logging
import os
import re
import signal
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TextIO

import orjson
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from pipeline.redact import clean, escaped

LOOP = "made with the embedded model: figures of the loop, not of the data"
"""Stands wherever a figure of such a run does."""
_NUMBER = re.compile(r"[\d.,]+%?|–|unknown")
_MANY = 7
"""Columns from which on they stand closer, so that those of the costs fit on 80."""
WIDE = 160
"""Columns where nobody's screen says how many there are."""


class Screen(Console):
    """Takes text as it is: no markup, no emoji codes, no guesses at highlights."""

    def __init__(self, *, error: bool) -> None:
        terminal = (sys.stderr if error else sys.stdout).isatty()
        super().__init__(stderr=error, markup=False, emoji=False, highlight=False, width=None if terminal else WIDE)

    def on_broken_pipe(self) -> None:
        """A command ends when nobody reads its output; work goes on when nobody reads its messages."""
        if not self.stderr:
            end_unread()
        _drain(sys.stderr)
        self.quiet = True


def give_up() -> None:
    """Drop what stdout holds, if it takes no more."""
    try:
        sys.stdout.flush()
    except OSError:
        _drain(sys.stdout)


def end_unread() -> NoReturn:
    """End quietly where nobody reads our output any more, as other programs of a pipeline do."""
    _drain(sys.stdout)
    raise SystemExit(128 + signal.SIGPIPE)


def _drain(stream: TextIO) -> None:
    """What it still holds, and all that follows, goes nowhere: Python's own flush at the end would fail and say so."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def say(line: str, *, style: str = "") -> None:
    """One line on stderr, never wrapped, so that a script can read it."""
    Screen(error=True).print(words(line, style=style), soft_wrap=True)


class _Lines(logging.Handler):
    """What the product warns of, as lines like all others."""

    def emit(self, record: logging.LogRecord) -> None:
        with suppress(OSError):
            say(record.getMessage(), style="yellow")


@contextmanager
def warnings() -> Iterator[None]:
    """Show them so, whatever Pyserini and Prefect do to Python's logging: each sets it up for itself when imported."""
    ours, lines = logging.getLogger("pipeline"), _Lines()
    ours.addHandler(lines)
    ours.propagate = False
    try:
        yield
    finally:
        ours.removeHandler(lines)
        ours.propagate = True


def show(*parts: RenderableType) -> None:
    """Onto stdout."""
    Screen(error=False).print(*parts, sep="\n")


def words(text: object, *, style: str = "") -> Text:
    """Text from anywhere, made safe for a terminal."""
    return Text(clean(str(text)), style=style)


def table(*heads: str, rows: Iterable[Iterable[object]]) -> Table:
    """A plain table; columns of numbers stand right, and no number is broken where the screen is narrow."""
    cells = [[words(f"{cell:,}" if isinstance(cell, int) else cell) for cell in row] for row in rows]
    apart = 2 if len(heads) < _MANY else 1
    grid = Table(box=None, pad_edge=False, padding=(0, apart, 0, 0), header_style="bold")
    for index, head in enumerate(heads):
        column = [row[index].plain for row in cells]
        if column and all(map(_NUMBER.fullmatch, column)):
            grid.add_column(head, justify="right", width=max(map(len, (*column, *head.split()))))
        else:
            grid.add_column(head, overflow="fold")
    for row in cells:
        grid.add_row(*row)
    return grid


def note(model: str) -> None:
    """Say whose figures were just shown, where that matters; on stderr, since a script reads the model's name."""
    if "embedded" in model.split(" + "):
        say(LOOP, style="dim")


def lines(values: Iterable[Any]) -> None:
    """JSON lines on stdout, and nothing else."""
    for value in values:
        _write(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE))


def json(value: Any) -> None:
    """One JSON document on stdout, and nothing else."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
    _write(orjson.dumps(value, option=options, default=str))


def _write(text: bytes) -> None:
    try:
        sys.stdout.write(escaped(text.decode()))
        sys.stdout.flush()
    except BrokenPipeError:
        end_unread()
