"""A user's mistake is one line that says what to do, the frozen one, and exit code 2; it leaves nothing behind."""

from pathlib import Path

import pytest

from pipeline.cli import app as application
from tests.golden import terminal

MISTAKES = terminal.mistakes()


@pytest.mark.parametrize("command", MISTAKES)
def test_a_mistake_is_the_frozen_line_and_leaves_nothing(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = terminal.said(command)
    assert said == MISTAKES[command], "if that is meant: python -m tests.golden.freeze terminal"
    assert said.startswith("digsite: ")
    assert said.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_no_command_is_without_a_mistake() -> None:
    named = {command.split()[0] for command in MISTAKES}
    commands = {
        (command.name or command.callback.__name__.lower()).replace("_", "-")
        for command in application.app.registered_commands
    }  # type: ignore[union-attr]
    assert commands <= named
