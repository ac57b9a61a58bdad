"""The commands by name, and the one place that turns an error into a line and an exit code.

Exit codes: 0 done; 1 something broke; 2 a mistake of the user's, said in one line; 3 ended before the wanted number of
pairs; 130 and 143 interrupted. `--debug` may stand anywhere on the line and shows tracebacks.
"""

import io
import os
import signal
import sys
import traceback
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from types import FrameType
from typing import Annotated, NoReturn

import typer

from pipeline.cli import branches, complete, corpora, generate, outward, pilot, remeasure, runs, serve, tell
from pipeline.cli.options import Through, Way
from pipeline.errors import DigsiteError

app = typer.Typer(
    name="digsite",
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 something broke, 2 your mistake, 3 fewer pairs than wanted, 130 interrupted.",
)
_COMMANDS: tuple[Callable[..., object], ...] = (
    generate.generate,
    generate.resume,
    generate.preview,
    pilot.pilot,
    runs.inspect,
    runs.export,
    runs.report,
    branches.branch,
    complete.complete,
    remeasure.remeasure,
    outward.review,
    outward.push,
    corpora.search,
    corpora.measure,
    serve.serve,
    serve.serve_model,
    corpora.doctor,
)
for _command in _COMMANDS:
    app.command()(_command)
app.add_typer(corpora.corpus, name="corpus")
for _listed in (*app.registered_commands, *corpora.corpus.registered_commands):
    # A text that is named as the short one is wrapped in a list of commands; another would be cut.
    _listed.short_help = (getattr(_listed.callback, "__doc__", None) or "").partition("\n\n")[0]


INTERRUPTED = 130
"""What typer makes of a Ctrl-C; of any signal here."""


def _version(wanted: bool) -> None:
    if wanted:
        tell.show(tell.words(f"digsite {version('digsite')}"))
        raise typer.Exit


@app.callback()
def _digsite(
    debug: Annotated[bool, typer.Option("--debug", help="Show tracebacks. May stand anywhere on the line.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Digs deep-search question-answer pairs out of a text corpus, at a difficulty that a solver agent has proved."""


def main(arguments: list[str] | None = None, *, through: Through | None = None) -> NoReturn:
    """Run one command and exit. `through` runs `generate` in another way than plain asyncio."""
    arguments = sys.argv[1:] if arguments is None else arguments
    plain = [argument for argument in arguments if argument != "--debug"]
    debug = plain != arguments
    if plain in ([], ["corpus"]):  # whoever names no command is shown those that there are
        plain.append("--help")
    _open_streams()
    # Not Python's own, which asyncio would replace by one that waits until the event loop has its turn again.
    caught: list[int] = []
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, partial(_interrupt, caught))
    try:
        with tell.warnings():
            result = app(plain, prog_name="digsite", standalone_mode=False, obj=Way(through, debug))
        code = result if isinstance(result, int) else 0
        if code == INTERRUPTED:
            code = 128 + caught[0] if caught else code
            tell.say("digsite: interrupted; what had finished is kept, and the same command goes on from there")
    except (DigsiteError, typer.TyperException) as error:
        code = _failed(_line(error), error.exit_code, debug=debug)
    except SystemExit as ended:
        if isinstance(ended.__context__, BrokenPipeError):  # typer makes a plain 1 of it
            tell.end_unread()
        raise
    except OSError as error:  # the machine's trouble, such as a full disk under `> file`
        code = _failed(f"{_line(error)}; put that right and repeat the command", 1, debug=debug)
        tell.give_up()
    except Exception as error:  # noqa: BLE001 - the last line of defence
        line = f"{type(error).__name__}: {_line(error)} (run it with --debug to see where; please report it)"
        code = _failed(line, 1, debug=debug)
    sys.exit(code)


def _open_streams() -> None:
    """A stream that was closed before we began (`2>&-`) goes nowhere, and one that lacks a letter spells its code."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            nowhere = io.FileIO(os.open(os.devnull, os.O_WRONLY), "w")
            setattr(sys, name, io.TextIOWrapper(nowhere, encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _interrupt(caught: list[int], number: int, frame: FrameType | None) -> NoReturn:
    caught.append(number)
    raise KeyboardInterrupt


def _line(error: Exception) -> str:
    text = error.format_message() if isinstance(error, typer.TyperException) else str(error)
    return " ".join(text.split())


def _failed(line: str, code: int, *, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    tell.say(f"digsite: {line}")
    return code
