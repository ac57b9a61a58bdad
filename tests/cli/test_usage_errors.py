"""A user's mistake is one line that says what to do, and exit code 2; it leaves nothing behind."""

import socket
import time
from pathlib import Path

import pytest

from pipeline.cli import app as application
from tests.cli.conftest import SMALL, Digsite

MISTAKES = {
    "generate nosuch": "known: tiny, wiki",
    "generate ./nosuch.jsonl": "no such file",
    "generate tiny --pairs 0": "'--pairs'",
    "generate tiny --steps 0": "such as 3 or 2-4",
    "generate tiny --steps 4-2": "such as 3 or 2-4",
    "generate tiny --steps 14-20 --set solver.searches=12": "or ask for at most 12 with --steps",
    "corpus stats tiny --text-field body": "leave out --text-field and the like",
    "corpus stats tiny --language de": "says its language: leave out these options",
    "generate tiny --seed 18446744073709551616": "seed: must fit into 64 bits",
    "generate tiny --pairs 18446744073709551616": "how.pairs: must fit into 64 bits",
    f"generate tiny --set loop={'[' * 5000}{']' * 5000}": "nested too deeply",
    'generate tiny --set how.out="a\\u0000b"': "how.out: must not contain NUL",
    "generate tiny --out /tmp/\udcff": "how.out: must not contain NUL or invalid UTF-8",
    "generate a\0b": "corpus.name: must not contain NUL",
    "generate tiny --engine spark": "'local', 'dask' or 'ray'",
    "generate tiny --engine dask --no-flow": "leave out --no-flow",
    "generate tiny --preset nosuch": "known: default, sage",
    "generate tiny --retriever nosuch": "known: bm25, dense, hybrid, lucene",
    "generate tiny --model nosuch": "known: embedded",
    "generate tiny --set loop.rouns=1": "rounds",
    "generate tiny --strategy nosuch": "no strategy 'nosuch'; known: ragshaper, sage",
    "generate tiny --set strategy=nosuch": "sage",
    "generate tiny --config nosuch.toml": "nosuch.toml",
    "generate tiny --nosuch": "no option '--nosuch'; 'digsite generate --help' lists them",
    "generate": "CORPUS",
    "generate tiny --pairz 3": "no option '--pairz'; did you mean '--pairs'?",
    "generate tiny --base_url http://a": "did you mean '--base-url'?",
    "generate tiny more": "'digsite generate' does not take 'more'",
    "generate tiny --pairs many": "'--pairs' must be a whole number",
    "generate tiny --pairs -1": "'--pairs' must be at least 1",
    "generate wikki": "no corpus 'wikki'; did you mean 'wiki'?",
    "generate tiny --preset sgae": "did you mean 'sage'?",
    "generate tiny --strategy ragshapper": "did you mean 'ragshaper'?",
    "generate tiny --set lop.rounds=1": "no setting 'lop'; did you mean 'loop'?",
    "generate tiny --set rounds=1": "no setting 'rounds'; did you mean 'loop.rounds'?",
    "generate tiny --set models.default.temprature=1": "known in models.default: api_key_env",
    "generate tiny --set models.solvr.model=x": "did you mean 'models.solver'?",
    "generate tiny --set loop.rounds=many": "loop.rounds: must be a whole number",
    "generate tiny --set loop.rounds=-1": "loop.rounds: must be at least 0",
    "generate tiny --set loop.audit=maybe": "loop.audit: must be true or false",
    "generate tiny --set how.budget_money=much": "how.budget_money: must be a number",
    "generate tiny --set loop=1": "loop: must be a table of settings",
    "generate tiny --answer-types entitty": "must be 'entity', 'date'",
    "export": "which run?",
    "inspect": "'digsite inspect' needs RUN",
    "branch tiny": "'digsite branch' needs --method",
    "corpus statz tiny": "did you mean 'stats'?",
    "gnerate tiny": "no command 'gnerate'; did you mean 'generate'?",
    "resume nosuch": "digsite generate",
    "inspect nosuch": "digsite generate",
    "remeasure nosuch --model openai:m": "digsite generate",
    "export nosuch": "digsite generate",
    "report nosuch": "digsite generate",
    "compare nosuch nosuch": "digsite generate",
    "view nosuch": "digsite generate",
    "branch nosuch --method cso": "digsite generate",
    "complete nosuch": "digsite generate",
    "review nosuch": "digsite generate",
    "push nosuch --repo me/mine": "digsite generate",
    "mix nosuch -o mixed": "digsite generate",
    "merge nosuch": "digsite generate",
    "pilot nosuch": "known: tiny, wiki",
    "preview nosuch": "known: tiny, wiki",
    "search nosuch x": "known: tiny, wiki",
    "links nosuch": "known: tiny, wiki",
    "links tiny --set links.most_documents=1": "links.most_documents",
    "corpus stats nosuch": "known: tiny, wiki",
    "measure tiny nosuch.jsonl": "nosuch.jsonl",
    "serve nosuch --port 0": "known: tiny, wiki",
    "serve nosuch/latest --port 0": "no run 'nosuch/latest'",
    "serve tiny --host 0.0.0.0": "put a token into the environment variable DIGSITE_TOKEN",
    "serve tiny --port 0 --environment nosuch.json": "is not the environment of a data set",
    'generate tiny --set distractors.kinds=["nosuch"]': "no kind of distractor 'nosuch'; known: doppelganger",
    "serve tiny --port 0 --retriever nosuch": "known: bm25, dense, hybrid, lucene",
    "serve-model --host 0.0.0.0": "put a token into the environment variable DIGSITE_TOKEN",
    "serve-model --port 70000": "'--port'",
}


@pytest.mark.parametrize("command", MISTAKES)
def test_a_mistake_is_one_line_and_leaves_nothing(
    digsite: Digsite, command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = digsite(*command.split())
    assert (said.code, said.out) == (2, "")
    assert MISTAKES[command] in said.err
    assert said.err.startswith("digsite: ")
    assert said.err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


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


def test_no_option_of_a_command_is_out_of_reach_of_its_mistakes() -> None:
    named = {command.split()[0] for command in MISTAKES}
    commands = {
        (command.name or command.callback.__name__.lower()).replace("_", "-")
        for command in application.app.registered_commands
    }  # type: ignore[union-attr]
    assert commands - named == {"doctor"}


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
