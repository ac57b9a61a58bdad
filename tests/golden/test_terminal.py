"""A user's mistake is one line that says what to do, the frozen one, and exit code 2; it leaves nothing behind."""

from pathlib import Path

import pytest

from pipeline.cli import app as application
from tests.golden import terminal

NOTHING, A_RUN = (terminal.mistakes(file) for file in (terminal.NOTHING, terminal.A_RUN))


def list_files(folder: Path) -> dict[Path, tuple[int, int]]:
    """Return size and modification time of every file except locks."""
    stats = {path: path.stat() for path in folder.rglob("*") if path.is_file() and path.name != ".lock"}
    return {path: (stat.st_size, stat.st_mtime_ns) for path, stat in stats.items()}


def check(command: str, frozen: str) -> None:
    message = terminal.run_mistake(command)
    assert message == frozen, "if that is meant: python -m tests.golden.freeze terminal"
    assert message.startswith("digsite: ")
    assert message.count("\n") == 1


@pytest.mark.parametrize("command", NOTHING)
def test_a_mistake_is_the_frozen_line_and_leaves_nothing(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    check(command, NOTHING[command])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", A_RUN)
def test_a_mistake_changes_no_run(command: str, out: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outputs").symlink_to(out)
    monkeypatch.chdir(tmp_path)
    before = list_files(out)
    check(command, A_RUN[command])
    assert list_files(out) == before
    assert [path.name for path in tmp_path.iterdir()] == ["outputs"]


def test_no_command_is_without_a_mistake() -> None:
    covered = {command.split()[0] for command in NOTHING}
    commands = {
        (command.name or command.callback.__name__.lower()).replace("_", "-")
        for command in application.app.registered_commands
    }  # type: ignore[union-attr]
    assert commands <= covered
