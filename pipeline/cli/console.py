"""Output for a person or a script: messages on stderr, results as text or JSON on stdout.

Text from corpus and model is hostile: terminal escapes are removed and it is never read as markup. If stdout is closed
early (`digsite inspect latest | head`), the process ends quietly, with the exit code of SIGPIPE.
"""

import logging
import os
import re
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, NoReturn, TextIO

import orjson
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from pipeline.corpus import progress_log
from pipeline.text.redact import clean, escape_json
from pipeline.types import DEMO_NOTE, by_demo

_NUMBER = re.compile(r"[\d.,]+[%M]?|–|unknown")
_MANY = 7
"""A table with at least this many columns has narrower gaps, so that a table of costs fits on 80 characters."""
WIDE = 160
"""The width of output that does not go to a terminal."""


class PlainConsole(Console):
    """A console that prints text as it is: no markup, no emoji codes, no highlighting."""

    def __init__(self, *, error: bool) -> None:
        terminal = (sys.stderr if error else sys.stdout).isatty()
        super().__init__(stderr=error, markup=False, emoji=False, highlight=False, width=None if terminal else WIDE)

    def on_broken_pipe(self) -> None:
        """End the command if stdout was closed, but go on if stderr was."""
        if not self.stderr:
            end_unread()
        _drain(sys.stderr)
        self.quiet = True


def flush_or_drop() -> None:
    """Flush stdout, or drop its buffer if that fails."""
    try:
        sys.stdout.flush()
    except OSError:
        _drain(sys.stdout)


def end_unread() -> NoReturn:
    """End quietly because stdout was closed, as other programs in a shell pipeline do."""
    _drain(sys.stdout)
    raise SystemExit(128 + signal.SIGPIPE)


def _drain(stream: TextIO) -> None:
    # Without this, Python's own flush at exit fails and prints a traceback.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def message(line: str, *, style: str = "") -> None:
    """Print one line on stderr. It is never wrapped, so that a script can read it."""
    PlainConsole(error=True).print(text(line, style=style), soft_wrap=True)


class _MessageHandler(logging.Handler):
    """A handler that prints each warning once, however often it is logged."""

    def __init__(self) -> None:
        super().__init__()
        self._printed: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        line, is_warning = record.getMessage(), record.levelno > logging.INFO
        if is_warning and line in self._printed:
            return
        self._printed.add(line)
        with suppress(OSError):
            message(line, style="yellow" if is_warning else "")


@contextmanager
def warnings() -> Iterator[None]:
    """Print Digsite's warnings and the progress of long work as messages.

    This does not depend on Python's root logger, which Prefect configures when it is imported.
    """
    logging.getLogger(progress_log.NAME).setLevel(logging.INFO)
    # It logs every attempt; Digsite prints one line about the outcome.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    logger, handler = logging.getLogger("pipeline"), _MessageHandler()
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.propagate = True


def show(*parts: RenderableType) -> None:
    """Print on stdout."""
    PlainConsole(error=False).print(*parts, sep="\n")


def result(tree: Any, *parts: RenderableType, as_json: bool, model: str = "") -> None:
    """Print a command's result: `tree` as JSON, or `parts` for a person, with a note if `model` is the demo model."""
    if as_json:
        json(tree)
    else:
        show(*parts)
        demo_note(model)


def text(value: object, *, style: str = "") -> Text:
    """Return untrusted text in a form that is safe for a terminal."""
    return Text(clean(str(value)), style=style)


def table(*heads: str, rows: Iterable[Iterable[object]]) -> Table:
    """Return a plain table. Columns of numbers are right-aligned and never wrapped, even on a narrow screen."""
    cells = [[text(f"{cell:,}" if isinstance(cell, int) else cell) for cell in row] for row in rows]
    gap = 2 if len(heads) < _MANY else 1
    grid = Table(box=None, pad_edge=False, padding=(0, gap, 0, 0), header_style="bold")
    for index, head in enumerate(heads):
        column = [row[index].plain for row in cells]
        if column and all(map(_NUMBER.fullmatch, column)):
            grid.add_column(head, justify="right", width=max(map(len, (*column, *head.split()))))
        else:
            grid.add_column(head, overflow="fold")
    for row in cells:
        grid.add_row(*row)
    return grid


def rows_of_views(counts: Mapping[str, Mapping[str, int]]) -> Table:
    """Return a table of the row counts of a data set, by view and split."""
    rows = [(view, split, count) for view, splits in counts.items() for split, count in splits.items()]
    return table("view", "split", "rows", rows=rows)


def demo_note(model: str) -> None:
    """Print a note on stderr if the demo model is among the names in `model`."""
    if by_demo(model):
        message(DEMO_NOTE, style="dim")


def json_lines(values: Iterable[Any]) -> None:
    """Print JSON lines on stdout, and nothing else."""
    for value in values:
        _write(orjson.dumps(value, option=orjson.OPT_APPEND_NEWLINE))


def json(value: Any) -> None:
    """Print one JSON document on stdout, and nothing else."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE | orjson.OPT_NON_STR_KEYS
    _write(orjson.dumps(value, option=options, default=str))


def _write(raw: bytes) -> None:
    try:
        # JSON is UTF-8 in any locale.
        sys.stdout.buffer.write(escape_json(raw.decode()).encode())
        sys.stdout.flush()
    except BrokenPipeError:
        end_unread()
