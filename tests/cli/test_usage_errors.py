"""Mistakes that `tests/golden/frozen/terminal` cannot express are reported in one line."""

import socket
from pathlib import Path

import pytest
from polars.exceptions import PanicException

from tests.cli.conftest import SMALL, Digsite


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--set", f"loop={'[' * 5000}{']' * 5000}"), "nested too deeply"),
        (("--set", 'runtime.out="a\\u0000b"'), "runtime.out: must not contain NUL"),
        (("--out", "/tmp/\udcff"), "runtime.out: must not contain NUL or invalid UTF-8"),
    ],
)
def test_an_unstorable_setting_is_refused_in_one_line(digsite: Digsite, options: tuple[str, str], message: str) -> None:
    output = digsite("generate", "tiny", *options)
    assert (output.code, output.out, output.err.count("\n")) == (2, "", 1)
    assert message in output.err


@pytest.mark.parametrize("command", ["generate tiny", "pilot tiny", "doctor"])
def test_an_address_without_a_model_is_refused_in_one_line(digsite: Digsite, command: str) -> None:
    output = digsite(*command.split(), "--base-url", "http://127.0.0.1:9/v1")
    assert (output.code, output.out, output.err.count("\n")) == (2, "", 1)
    assert "add --model openai:NAME" in output.err


@pytest.mark.parametrize("command", ["", "corpus"])
def test_without_a_command_the_commands_are_listed(digsite: Digsite, command: str) -> None:
    output = digsite(*command.split())
    assert (output.code, output.err) == (0, "")
    assert len(output.out.splitlines()) > 5


@pytest.mark.parametrize("command", ["remeasure", "doctor"])
def test_help_names_only_the_defaults_of_its_command(digsite: Digsite, command: str) -> None:
    assert "[embedded]" not in digsite(command, "--help").out


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"", "empty"), (b"\x00\xff\xfe\x01junk" * 50, "rows are not documents"), (b'{"body": "x"}\n', "--text-field")],
)
def test_an_unreadable_corpus_is_refused_in_one_line(
    digsite: Digsite, content: bytes, why: str, tmp_path: Path
) -> None:
    path = tmp_path / "mine.jsonl"
    path.write_bytes(content)
    output = digsite("generate", path, *SMALL, "--out", tmp_path / "outputs")
    lines = [line for line in output.err.splitlines() if line.startswith("digsite: ")]
    assert (output.code, len(lines)) == (2, 1)
    assert why in lines[0]
    assert "Traceback" not in output.err
    assert not (tmp_path / "outputs").exists()


def test_an_unexpected_error_is_one_line_and_debug_shows_the_traceback(
    digsite: Digsite, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raise_error(*_: object, **__: object) -> None:
        raise RuntimeError("two\nlines")

    monkeypatch.setattr("pipeline.run.prepare.load", raise_error)
    output = digsite("corpus", "stats", "tiny")
    assert (output.code, output.err.count("\n")) == (1, 1)
    assert "RuntimeError: two lines" in output.err
    assert "--debug" in output.err
    assert "Traceback" in digsite("corpus", "stats", "tiny", "--debug").err


@pytest.mark.slow
def test_a_panic_for_want_of_threads_is_one_line(digsite: Digsite, monkeypatch: pytest.MonkeyPatch) -> None:
    def panic(*_: object, **__: object) -> None:
        raise PanicException('Os { code: 11, kind: WouldBlock, message: "Resource temporarily unavailable" }')

    monkeypatch.setattr("pipeline.run.prepare.load", panic)
    output = digsite("corpus", "stats", "tiny")
    assert (output.code, output.out) == (1, "")
    assert output.err.startswith(
        "digsite: no more threads can be started; end other processes or raise the limit (ulim"
    )
    assert output.err.count("\n") == 1


def test_an_unreachable_endpoint_is_reported_before_any_work(
    digsite: Digsite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
    for command in ("generate tiny --no-flow", "pilot tiny", "preview tiny", "generate tiny --no-flow --wait 0.1"):
        output = digsite(*command.split(), "--model", "openai:m", "--base-url", url)
        assert output.code == 1
        assert "cannot be reached" in output.err.splitlines()[-1]
        assert "reading" not in output.err
        assert list(tmp_path.iterdir()) == []
