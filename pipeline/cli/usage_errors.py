"""Rewrites typer's and click's errors about a wrong command line as one line that says what to do."""

import re

import typer

from pipeline.errors import in_words, unknown

_UNKNOWN_COMMAND = re.compile(r"No such command '(.*?)'\.")
_EXTRA_ARGUMENT = re.compile(r"Got unexpected extra argument\(s\) \((.*)\)")


def explain(error: typer.TyperException) -> str:
    text, context = error.format_message(), getattr(error, "ctx", None)
    if context is None:
        return text
    command, help_lists = context.command_path, f"'{context.command_path} --help' lists"
    if option := getattr(error, "option_name", "") if hasattr(error, "possibilities") else "":
        options = [name for parameter in context.command.params for name in parameter.opts if name.startswith("-")]
        return str(unknown("option", option, options, listed=f"{help_lists} them"))
    if match := _UNKNOWN_COMMAND.match(text):
        return str(unknown("command", match[1], sorted(context.command.commands)))
    if match := _EXTRA_ARGUMENT.match(text):
        return f"'{command}' does not take '{match[1]}'; {help_lists} what it takes"
    if text.startswith("Missing "):
        hint = error.param.get_error_hint().replace("'", "")  # type: ignore[attr-defined]
        return f"'{command}' needs {hint}; {help_lists} what it takes"
    if match := re.match(r"Invalid value for '(.*?)': (.*)", text, re.DOTALL):
        return f"'{match[1]}' {in_words(match[2])}"
    return text
