"""Mistakes that `tests/golden/frozen/terminal` cannot spell, and what is said where nothing can be done."""

import socket
import time
from pathlib import Path

import pytest

from tests.cli.conftest import SMALL, Digsite


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--set", f"loop={'[' * 5000}{']' * 5000}"), "nested too deeply"),
        (("--set", 'runtime.out="a\\u0000b"'), "runtime.out: must not contain NUL"),
        (("--out", "/tmp/\udcff"), "runtime.out: must not contain NUL or invalid UTF-8"),
    ],
)
def test_what_no_file_could_store_is_one_line(digsite: Digsite, options: tuple[str, str], said: str) -> None:
    found = digsite("generate", "tiny", *options)
    assert (found.code, found.out, found.err.count("\n")) == (2, "", 1)
    assert said in found.err


@pytest.mark.parametrize("command", ["generate tiny", "pilot tiny", "doctor"])
def test_an_address_without_a_model_is_one_line(digsite: Digsite, command: str) -> None:
    said = digsite(*command.split(), "--base-url", "http://127.0.0.1:9/v1")
    assert (said.code, said.out, said.err.count("\n")) == (2, "", 1)
    assert "add --model openai:NAME" in said.err


@pytest.mark.parametrize("command", ["", "corpus"])
def test_who_names_no_command_is_shown_those_that_there_are(digsite: Digsite, command: str) -> None:
    said = digsite(*command.split())
    assert (said.code, said.err) == (0, "")
    assert len(said.out.splitlines()) > 5


@pytest.mark.parametrize("command", ["remeasure", "doctor"])
def test_help_names_no_default_that_is_another_commands(digsite: Digsite, command: str) -> None:
    assert "[embedded]" not in digsite(command, "--help").out


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"", "empty"), (b"\x00\xff\xfe\x01junk" * 50, "rows are not documents"), (b'{"body": "x"}\n', "--text-field")],
)
def test_a_corpus_that_cannot_be_read_is_one_line(digsite: Digsite, content: bytes, why: str, tmp_path: Path) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(content)
    said = digsite("generate", path, *SMALL, "--out", tmp_path / "outputs")
    lines = [line for line in said.err.splitlines() if line.startswith("digsite: ")]
    assert (said.code, len(lines)) == (2, 1)
    assert why in lines[0]
    assert "Traceback" not in said.err
    assert not (tmp_path / "outputs").exists()


def test_an_unexpected_error_is_one_line_too_and_debug_shows_where(
    digsite: Digsite, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("pipeline.run.prepare.load", broken)
    said = digsite("corpus", "stats", "tiny")
    assert (said.code, said.err.count("\n")) == (1, 1)
    assert "RuntimeError: two lines" in said.err
    assert "--debug" in said.err
    assert "Traceback" in digsite("corpus", "stats", "tiny", "--debug").err


def test_an_endpoint_that_is_not_there_is_told_before_any_work(
    digsite: Digsite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    for command in ("generate tiny --no-flow", "pilot tiny", "preview tiny", "generate tiny --no-flow --wait 0.1"):
        began = time.monotonic()
        said = digsite(*command.split(), "--model", "openai:m", "--base-url", url)
        assert time.monotonic() - began < 5
        assert said.code == 1
        assert "cannot be reached" in said.err.splitlines()[-1]
        assert "reading" not in said.err
        assert list(tmp_path.iterdir()) == []
