"""Output for a person or a script: messages on stderr, results as text or JSON on stdout.

Corpus and model text is hostile: it is cleaned of terminal escapes and never read as markup. Where stdout is closed
early (`digsite inspect latest | head`) the process ends quietly, with the code that SIGPIPE would give it.
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
"""From this many columns on they stand closer together, so that a table of costs fits on 80 characters."""
WIDE = 160
"""The width of output that does not go to a terminal."""


class PlainConsole(Console):
    """A console that prints text as it is: no markup, no emoji codes, no highlighting."""

    def __init__(self, *, error: bool) -> None:
        terminal = (sys.stderr if error else sys.stdout).isatty()
        super().__init__(stderr=error, markup=False, emoji=False, highlight=False, width=None if terminal else WIDE)

    def on_broken_pipe(self) -> None:
        """End the command if nobody reads its output; go on if nobody reads its messages."""
        if not self.stderr:
            end_unread()
        _drain(sys.stderr)
        self.quiet = True


def flush_or_drop() -> None:
    """Flush stdout, or drop what it holds if it takes no more."""
    try:
        sys.stdout.flush()
    except OSError:
        _drain(sys.stdout)


def end_unread() -> NoReturn:
    """End quietly because nobody reads stdout any more, as other programs of a pipeline do."""
    _drain(sys.stdout)
    raise SystemExit(128 + signal.SIGPIPE)


def _drain(stream: TextIO) -> None:
    """Send what the stream holds, and all that follows, nowhere: Python's own flush at exit would fail and print."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)


def message(line: str, *, style: str = "") -> None:
    """Print one line on stderr, never wrapped, so that a script can read it."""
    PlainConsole(error=True).print(text(line, style=style), soft_wrap=True)


class _MessageHandler(logging.Handler):
    """A warning stands once, however often it is given."""

    def __init__(self) -> None:
        super().__init__()
        self._given: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        line, warning = record.getMessage(), record.levelno > logging.INFO
        if warning and line in self._given:
            return
        self._given.add(line)
        with suppress(OSError):
            message(line, style="yellow" if warning else "")


@contextmanager
def warnings() -> Iterator[None]:
    """Print the warnings of the product, and how far its long work is, as messages, whatever Prefect's import does to
    Python's logging."""
    logging.getLogger(progress_log.NAME).setLevel(logging.INFO)
    # It tells every try; what came of them is one line of ours.
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)
    ours, handler = logging.getLogger("pipeline"), _MessageHandler()
    ours.addHandler(handler)
    ours.propagate = False
    try:
        yield
    finally:
        ours.removeHandler(handler)
        ours.propagate = True


def show(*parts: RenderableType) -> None:
    """Print on stdout."""
    PlainConsole(error=False).print(*parts, sep="\n")


def result(tree: Any, *parts: RenderableType, as_json: bool, model: str = "") -> None:
    """Print what a command found: `tree` as JSON, or `parts` for a person, with a note if `model` is the demo model."""
    if as_json:
        json(tree)
    else:
        show(*parts)
        demo_note(model)


def text(value: object, *, style: str = "") -> Text:
    """Text from anywhere, made safe for a terminal."""
    return Text(clean(str(value)), style=style)


def table(*heads: str, rows: Iterable[Iterable[object]]) -> Table:
    """A plain table; columns of numbers are right-aligned, and no number is broken where the screen is narrow."""
    cells = [[text(f"{cell:,}" if isinstance(cell, int) else cell) for cell in row] for row in rows]
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


def rows_of_views(counts: Mapping[str, Mapping[str, int]]) -> Table:
    """How many rows each view of a data set has in each split."""
    rows = [(view, split, count) for view, splits in counts.items() for split, count in splits.items()]
    return table("view", "split", "rows", rows=rows)


def demo_note(model: str) -> None:
    """Say on stderr that the figures just shown are the demo model's, if `model`, which names all models, has it."""
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
