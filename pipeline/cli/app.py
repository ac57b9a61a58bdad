"""All commands by name, and the only place that turns an error into a message and an exit code.

Exit codes: 0 done; 1 something broke; 2 the user made a mistake, reported in one line; 3 the run has fewer pairs than
requested; 130 and 143 interrupted. `--debug` works anywhere on the command line and shows tracebacks.
"""

import errno
import io
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from functools import partial
from importlib.metadata import version
from types import FrameType
from typing import Annotated, Any, NoReturn

import typer
from polars.exceptions import PanicException
from typer import Option

from pipeline.cli import (
    branches,
    compare,
    complete,
    console,
    corpora,
    export,
    generate,
    inspect,
    links,
    mix,
    pilot,
    push,
    remeasure,
    review,
    serve,
    stats,
    usage_errors,
    view,
)
from pipeline.errors import DigsiteError, reason
from pipeline.run import RunResult
from pipeline.run.interrupt import ended_by_force


def _call(result: Any, **_: Any) -> Any:
    # A command that is a dataclass of options does its work when its instance is called.
    return result() if callable(result) else result


app = typer.Typer(
    name="digsite",
    result_callback=_call,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Exit codes: 0 done, 1 something broke, 2 usage error, 3 fewer pairs than wanted, 130 interrupted.",
)
_COMMANDS: tuple[Callable[..., object], ...] = (
    generate.Generate, generate.Harden, generate.resume, generate.refresh, generate.Preview, pilot.Pilot,
    inspect.inspect, stats.stats, export.export, export.report, view.view, compare.compare, mix.mix,
    branches.branch, complete.complete, remeasure.remeasure, review.review, push.push,
    corpora.Search, links.Links, corpora.Measure, serve.Serve, serve.serve_model, corpora.doctor,
)  # fmt: skip
for _command in _COMMANDS:
    app.command()(_command)
app.add_typer(corpora.corpus, name="corpus")
for _info in (*app.registered_commands, *corpora.corpus.registered_commands):
    # Typer cuts off a short help that it derives itself, but wraps one that is set.
    _info.short_help = (getattr(_info.callback, "__doc__", None) or "").partition("\n\n")[0]


INTERRUPTED = 130
"""Typer's exit code for a KeyboardInterrupt. Here SIGTERM raises one too."""
_THREADS = 32
"""A run with Java has 28 on two cores."""


def _show_version(is_set: bool) -> None:
    if is_set:
        console.show(console.text(f"digsite {version('digsite')}"))
        raise typer.Exit


@app.callback()
def _digsite(
    debug: Annotated[bool, Option("--debug", help="Show tracebacks. Works anywhere on the command line.")] = False,
    version: Annotated[
        bool, Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Generate multi-hop search QA data sets from a text corpus and verify their difficulty with a solver agent."""
    _require_threads()


def _require_threads() -> None:
    """Raise Python's RuntimeError if a command would run out of threads (ulimit -u).

    Polars and Java do not report that: they wait for a thread for ever, or end with a stack trace of their own.
    """
    is_over = threading.Event()
    threads = [threading.Thread(target=is_over.wait) for _ in range(_THREADS)]
    try:
        for thread in threads:
            thread.start()
    finally:
        is_over.set()
        for thread in threads:
            if thread.ident:
                thread.join()


def main(arguments: list[str] | None = None, *, runner: Callable[..., RunResult] | None = None) -> NoReturn:
    """Run one command and exit. If `runner` is set, `generate` and `resume` go through `runner(job, debug=...)`."""
    arguments = sys.argv[1:] if arguments is None else arguments
    plain = [argument for argument in arguments if argument != "--debug"]
    debug = plain != arguments
    if plain in ([], ["corpus"]):
        plain.append("--help")
    _open_streams()
    # If Python's own handler is set, asyncio replaces it with one that waits for the event loop's next turn.
    caught: list[int] = []
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, partial(_interrupt, caught))
    try:
        with ended_by_force(), console.warnings():
            result = app(plain, prog_name="digsite", standalone_mode=False, obj=runner and partial(runner, debug=debug))
        code = result if isinstance(result, int) else 0
        if code == INTERRUPTED:
            code = 128 + caught[0] if caught else code
            console.message("digsite: interrupted; finished work is kept, and the same command continues from there")
    except (DigsiteError, typer.TyperException) as error:
        code = _report_failure(_one_line(error), error.exit_code, debug=debug)
    except SystemExit as error:
        if isinstance(error.__context__, BrokenPipeError):  # typer turns it into exit code 1
            console.end_unread()
        raise
    except OSError as error:  # for example a full disk under `> file`
        code = _report_failure(*_explain_system_error(error), debug=debug)
        console.flush_or_drop()
    except (Exception, PanicException) as error:  # noqa: BLE001 - the last line of defence
        code = _report_failure(_explain_unexpected(error), 1, debug=debug)
    # A signal while Python shuts down must not print a traceback.
    for signal_number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(signal_number, signal.SIG_DFL)
    sys.exit(code)


def _open_streams() -> None:
    """Replace a closed stream (`2>&-`) by one to nowhere, and escape letters that a stream's encoding lacks."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            nowhere = io.FileIO(os.open(os.devnull, os.O_WRONLY), "w")
            setattr(sys, name, io.TextIOWrapper(nowhere, encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _interrupt(caught: list[int], signal_number: int, frame: FrameType | None) -> None:
    caught.append(signal_number)
    if len(caught) == 1:  # a second signal must not interrupt the clean-up after the first
        raise KeyboardInterrupt


def _one_line(error: Exception | PanicException) -> str:
    text = usage_errors.explain(error) if isinstance(error, typer.TyperException) else str(error)
    return " ".join(text.split())


def _explain_system_error(error: OSError) -> tuple[str, int]:
    """Return the message and the exit code."""
    if isinstance(error, PermissionError):
        remedy = "give this user the right to (chmod, chown) and repeat the command"
        return f"cannot open {error.filename}: {reason(error)}; {remedy}", 2
    return f"{_one_line(error)}; fix this and repeat the command", 1


def _explain_unexpected(error: Exception | PanicException) -> str:
    if isinstance(error, MemoryError):  # Arrow's is a subclass
        return "there is not enough memory (see ulimit -v); finished work is kept, and the same command continues"
    # Python raises a bare RuntimeError, and Polars panics with the system's words.
    if str(error) == "can't start new thread" or os.strerror(errno.EAGAIN) in str(error):
        return (
            "no more threads can be started; end other processes or raise the limit (ulimit -u, -v); finished work is "
            "kept, and the same command continues"
        )
    return f"{type(error).__name__}: {_one_line(error)} (run it with --debug to see where; please report it)"


def _report_failure(line: str, code: int, *, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    console.message(f"digsite: {line}")
    return code
