"""The terminal output for a user's mistakes: the files of `frozen/terminal/` have each command with its answer.

To add a command, add its line `$ digsite ...`; `python -m tests.golden.freeze terminal` writes the answer.
"""

import contextlib
import io
from pathlib import Path

from tests.cli.conftest import SMALL, exit_code
from tests.golden import frozen

NOTHING, A_RUN = "mistakes.txt", "mistakes-over-a-run.txt"
"""In a folder with nothing in it, and in one whose `outputs` hold a finished run of `tiny`."""
PROMPT = "$ digsite "


def mistakes(file: str) -> dict[str, str]:
    """Return the frozen message of each command."""
    blocks = frozen.read_frozen("terminal")[file].removeprefix(PROMPT).split(f"\n{PROMPT}")
    return {command: message for command, _, message in (block.partition("\n") for block in blocks)}


def run_mistake(command: str) -> str:
    """Run a command that must exit with code 2. Return its stderr, with the run's folder as RUN."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = exit_code(*command.split())
    assert (code, out.getvalue()) == (2, ""), command
    return err.getvalue().replace(str(Path("outputs/tiny/latest").resolve()), "RUN")


def build_texts(out: Path) -> frozen.Texts:
    """Answer all commands now."""
    with contextlib.chdir(out):
        answers = {NOTHING: _answer_all(NOTHING)}
        assert exit_code("generate", "tiny", *SMALL, "--seeds", "8", "--json") == 0
        return answers | {A_RUN: _answer_all(A_RUN)}


def _answer_all(file: str) -> str:
    return "\n".join(f"{PROMPT}{command}\n{run_mistake(command)}" for command in mistakes(file))
