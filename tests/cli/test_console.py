"""Output fits screens of any width, and contains no harmful characters."""

import io
import logging
import sys
from importlib.metadata import version

import orjson
import pytest
from rich.console import Console

from pipeline.analysis import money
from pipeline.cli import console
from pipeline.config import RunConfig
from pipeline.corpus import Corpus
from pipeline.run import prepare
from pipeline.text.redact import clean
from tests.cli.conftest import Digsite


@pytest.mark.parametrize("columns", [80, 160])
def test_the_cost_table_fits_80_columns(columns: int) -> None:
    row = ("per accepted pair", "1,234", "0.0", "1,234,567", "99%", "123,456", "0", "1,234.5", "unknown")
    screen = Console(width=columns)
    with screen.capture() as capture:
        screen.print(console.table(*money.HEADS, rows=[row]))
    text = capture.get()
    assert all(number in text.split() for number in row[1:])
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= columns


def test_numbers_are_aligned_right_and_words_left() -> None:
    screen = Console(width=80)
    with screen.capture() as capture:
        screen.print(console.table("name", "count", rows=[("a", 1), ("bc", 1000)]))
    assert capture.get().split("\n")[1:3] == ["a         1", "bc    1,000"]


def test_warnings_are_plain_lines_even_if_a_library_configures_logging(
    digsite: Digsite, monkeypatch: pytest.MonkeyPatch
) -> None:
    read_corpus = prepare.corpus

    def warn_and_read(config: RunConfig) -> Corpus:
        handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(logging.Formatter("\n%(name)s - %(message)s"))
        monkeypatch.setattr(logging.root, "handlers", [handler])
        logging.getLogger("pipeline.llm.retry").warning("[down] for a while")
        return read_corpus(config)

    monkeypatch.setattr(prepare, "corpus", warn_and_read)
    assert digsite("corpus", "stats", "tiny").err.splitlines() == ["[down] for a while"]
    assert logging.getLogger("pipeline").propagate


def test_json_keeps_its_values_and_escapes_control_characters(capsys: pytest.CaptureFixture[str]) -> None:
    value = {"text": "a\u202eb\u2066c\u200f\x9b31m\x85d\u2028é\ufeff\x7f\U0001f600"}
    console.json(value)
    console.json_lines([value])
    out = capsys.readouterr().out
    assert [clean(line) for line in out.splitlines()] == out.split("\n")[:-1]
    first_value, _, line = out.rpartition('{"')
    assert orjson.loads(first_value) == orjson.loads('{"' + line) == value
    assert r"a\u202eb\u2066c\u200f\u009b31m" in out


def test_json_is_utf_8_whatever_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="backslashreplace")
    monkeypatch.setattr(sys, "stdout", stdout)
    console.json({"text": "É, Ł, 😀"})
    assert isinstance(stdout.buffer, io.BytesIO)
    assert orjson.loads(stdout.buffer.getvalue()) == {"text": "É, Ł, 😀"}


@pytest.mark.parametrize("columns", ["80", "60"])
def test_no_help_line_is_truncated(columns: str, digsite: Digsite, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    for command in ("", "corpus", "generate", "export"):
        help_text = digsite(*command.split(), "--help").out
        assert "..." not in help_text.replace("[ARGS]...", "")
        assert max(map(len, help_text.splitlines())) <= int(columns)
    assert "Refuses if the configuration, prompts or corpus changed." in " ".join(digsite("--help").out.split())


def test_the_version_is_the_packages(digsite: Digsite) -> None:
    assert digsite("--version") == (0, f"digsite {version('digsite')}\n", "")
