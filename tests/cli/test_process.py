"""A real process starts fast, and survives closed pipes, signals and odd terminals."""

import os
import pty
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import orjson
import pytest

from tests.cli.conftest import SMALL, Digsite

DIGSITE = [sys.executable, "-m", "pipeline.cli"]
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
"""As a user's shell has it: what a stream still holds at the end is written then."""
HEAVY = ("prefect", "jnius", "pyarrow", "pandas", "numpy", "datasets", "textblob", "nltk", "sqlalchemy", "uvicorn")


def test_help_lists_the_commands_and_imports_nothing_heavy() -> None:
    code = f"""
import sys
from pipeline.flow.main import main
sys.argv = ["digsite", "--help"]
try:
    main()
except SystemExit as ended:
    print(ended.code, [name for name in {HEAVY} if name in sys.modules])
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert process.stdout.splitlines()[-1] == "0 []"
    for command in "generate resume preview measure inspect export report corpus search serve doctor".split():
        assert f"  {command} " in process.stdout


def test_a_shell_completes_commands_and_options() -> None:
    for words, completion in (("digsite gen", "generate"), ("digsite generate --pa", "--pairs")):
        line = {"COMP_WORDS": words, "COMP_CWORD": str(words.count(" ")), "_DIGSITE_COMPLETE": "complete_bash"}
        process = subprocess.run(DIGSITE, capture_output=True, text=True, check=True, env=os.environ | line)
        assert process.stdout.split() == [completion]


def test_no_flow_never_imports_prefect(tmp_path: Path) -> None:
    code = """
import sys
from pipeline.flow.main import main
try:
    main()
except SystemExit as ended:
    print(ended.code, "prefect" in sys.modules, file=sys.stderr)
"""
    arguments = ["generate", "tiny", *SMALL, "--seeds", "1", "--no-flow", "--out", str(tmp_path), "--json"]
    process = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False)
    assert process.stderr.splitlines()[-1] == "0 False"
    assert orjson.loads(process.stdout)["planned"] == 1
    assert not (tmp_path / ".prefect").exists()


@pytest.mark.slow
@pytest.mark.parametrize("command", ["--help", "corpus passages tiny", "inspect latest"])
def test_a_closed_pipe_ends_a_command_quietly(command: str, out: Path) -> None:
    arguments = [*command.split(), *(("--out", out) if "latest" in command else ())]
    process = subprocess.Popen([*DIGSITE, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=BUFFERED)
    assert process.stdout is not None
    process.stdout.close()
    _, stderr = process.communicate()
    assert (process.returncode, stderr) == (128 + signal.SIGPIPE, b"")


@pytest.mark.slow
def test_a_run_survives_a_closed_stderr(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*DIGSITE, "generate", "tiny", *SMALL, "--seeds", "4", "--out", tmp_path, "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=BUFFERED,
    )
    assert process.stderr is not None
    process.stderr.close()
    assert process.stdout is not None
    assert orjson.loads(process.stdout.read())["planned"] == 4
    assert process.wait() == 0


def test_streams_closed_from_the_start_are_no_error(out: Path) -> None:
    line = shlex.join([*DIGSITE, "inspect", "latest", "--out", str(out)])
    assert subprocess.run(["sh", "-c", f"{line} >&- 2>&-"], check=False).returncode == 0


def test_a_full_disk_under_stdout_is_one_line(out: Path) -> None:
    command = [*DIGSITE, "inspect", "latest", "--out", str(out), "--json"]
    with Path("/dev/full").open("w") as full:
        process = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, env=BUFFERED)
    assert process.returncode == 1
    assert process.stderr == "digsite: [Errno 28] No space left on device; fix this and repeat the command\n"


@pytest.mark.slow
def test_a_screen_that_lacks_a_letter_shows_its_escape(out: Path, digsite: Digsite) -> None:
    where = ("inspect", "latest", "--out", str(out))
    key = next(item["key"] for item in digsite(*where, "--json").json["items"] if item["status"] == "accepted")
    command, env = [*DIGSITE, *where, "--item", key], {**os.environ, "PYTHONIOENCODING": "ascii"}
    process = subprocess.run(command, capture_output=True, text=True, check=True, env=env)
    assert r"\u201c" in process.stdout


def test_a_signal_before_anything_has_begun_shows_no_traceback() -> None:
    code = """
import os, signal, sys

class Impatient:
    def find_spec(self, name, path, target=None):
        if name == "pipeline.cli":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Impatient())
from pipeline.flow.main import main
main()
"""
    process = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (process.returncode, process.stderr) == (-signal.SIGINT, "")


@pytest.mark.slow
def test_a_signal_before_the_first_seed_leaves_nothing(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*DIGSITE, "generate", "wiki", "--retriever", "bm25", "--out", tmp_path / "out"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stderr is not None
    assert process.stderr.readline().startswith("reading the corpus")
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 128 + signal.SIGINT
    assert stderr == "digsite: interrupted; finished work is kept, and the same command continues from there\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.slow
def test_a_second_process_is_refused_before_it_reads_the_corpus(tmp_path: Path) -> None:
    command = [*DIGSITE, "generate", "wiki", "--retriever", "bm25", "--out", str(tmp_path)]
    first = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert first.stderr is not None
        assert first.stderr.readline().startswith("reading the corpus")
        process = subprocess.run(command, capture_output=True, text=True, check=False)
    finally:
        first.kill()
        first.communicate()
    assert process.returncode == 1
    assert process.stderr.startswith(
        f"digsite: another process (pid {first.pid} on {socket.gethostname()}) is working on "
    )
    assert process.stderr.count("\n") == 1


def run_on_terminal(arguments: list[str], env: dict[str, str]) -> tuple[int, str]:
    """Run a command on a pseudo-terminal. Return its exit code and its output."""
    main, side = pty.openpty()
    process = subprocess.Popen(
        arguments, stdin=side, stdout=side, stderr=side, env={**os.environ, "TERM": "xterm", **env}
    )
    os.close(side)
    screen = b""
    while True:
        try:
            chunk = os.read(main, 4096)
        except OSError:
            break
        if not chunk:
            break
        screen += chunk
    os.close(main)
    return process.wait(), screen.decode(errors="replace")


@pytest.mark.slow
def test_on_a_terminal_progress_is_a_panel_and_colour_can_be_turned_off(tmp_path: Path) -> None:
    command = [*DIGSITE, "generate", "tiny", *SMALL, "--seeds", "4", "--out", str(tmp_path)]
    code, coloured = run_on_terminal(command, {})
    again, plain = run_on_terminal(command, {"NO_COLOR": "1"})
    colour = re.compile(r"\x1b\[[0-9;]*3[0-7][;m]")
    assert (code, again) == (0, 0)
    assert colour.search(coloured)
    assert not colour.search(plain)
    assert "\x1b[2K" in coloured
    assert "4/4" in coloured
