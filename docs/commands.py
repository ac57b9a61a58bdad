"""The page of all commands, from what `--help` says of them."""

from collections.abc import Iterator
from typing import Any

import typer

from docs.tables import code, made, table
from pipeline.cli.app import app

INTRODUCTION = (
    "Every command has `--help`. `--debug` may stand anywhere on the line and shows tracebacks. Results go to "
    "standard output, progress and messages to standard error; with `--json` standard output holds JSON alone.\n\n"
    "A RUN is a run's folder, or `wiki/latest`, `wiki`, `latest`, or four or more digits of its digest's beginning."
)
EXITS = (
    ("0", "Done."),
    ("1", "Something broke; `--debug` shows where."),
    ("2", "A mistake in the command or the settings; one line says what to do."),
    ("3", "Fewer pairs than wanted: seeds or budget used up. What there is was exported."),
    ("130, 143", "Interrupted. What had finished is kept, and `digsite resume` continues."),
    ("141", "Its output was closed early, as by `… | head -1`."),
)


def page() -> str:
    sections = [section(name, command) for name, command in commands()]
    exits = "## Exit codes\n\n" + table(["code", "meaning"], EXITS)
    return made("Commands", "\n\n".join([INTRODUCTION, exits, *sections]).rstrip())


def commands() -> Iterator[tuple[str, Any]]:
    """Each command with its whole name, in the order of `digsite --help`."""
    return _below(typer.main.get_command(app), "digsite")


def _below(group: Any, name: str) -> Iterator[tuple[str, Any]]:
    for word, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _below(command, f"{name} {word}")
        else:
            yield f"{name} {word}", command


def section(name: str, command: Any) -> str:
    if not command.help:
        raise KeyError(f"{name} has no docstring")
    context = typer.Context(command, info_name=name)
    usage = " ".join(command.get_usage(context).removeprefix("Usage: ").split())
    rows = [row for given in command.get_params(context) if (row := _row(name, given, context))]
    about = " ".join(command.help.split())
    return f"## {code(name)}\n\n{about}\n\n```\n{usage}\n```\n\n{table(['argument or option', 'meaning'], rows)}"


def _row(command: str, given: Any, context: Any) -> tuple[str, str] | None:
    """Of an argument or option that `--help` shows. A default alone is no help."""
    if (record := given.get_help_record(context)) is None:
        return None
    if not given.help:
        raise KeyError(f"{command} {record[0]} has no help")
    return code(record[0]), record[1]
