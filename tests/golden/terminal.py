"""What a terminal shows of a user's mistakes: `frozen/terminal/mistakes.txt` has each command with its answer.

A command is added by its line alone, `$ digsite ...`; `python -m tests.golden.freeze terminal` writes the answer.
"""

import contextlib
import io
from pathlib import Path

from pipeline.cli import main
from tests.golden import frozen

FILE = "mistakes.txt"
PROMPT = "$ digsite "


def mistakes() -> dict[str, str]:
    """What was said to each command, by its words."""
    blocks = frozen.kept("terminal")[FILE].removeprefix(PROMPT).split(f"\n{PROMPT}")
    return {command: said for command, _, said in (block.partition("\n") for block in blocks)}


def said(command: str) -> str:
    """What a command in this process says, in a folder that has nothing in it; its exit code must be 2."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main(command.split())
            code: object = 0
        except SystemExit as ended:
            code = ended.code
    assert code == 2, command
    assert out.getvalue() == ""
    return err.getvalue().replace(str(Path.cwd()), "FOLDER")


def texts(out: Path) -> frozen.Texts:
    """All of them anew."""
    with contextlib.chdir(out):
        return {FILE: "\n".join(f"{PROMPT}{command}\n{said(command)}" for command in mistakes())}
