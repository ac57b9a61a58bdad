"""The command line as a user meets it: arguments in; exit code, stdout and stderr out."""

import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import orjson
import pytest
import typer

from pipeline.cli import main

SMALL = "--retriever bm25 --steps 1 --set loop.rounds=0 --set loop.audit=false --set loop.rollouts=2".split()
"""Options with which `tiny` gives pairs within seconds, and without Java."""


class Said(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return orjson.loads(self.out)


Digsite = Callable[..., Said]


_made = cache(typer.main.get_command)
"""Typer makes all commands anew for each line; here one process reads hundreds of lines."""


def exit_code(*arguments: str | Path) -> object:
    """Of one command in this process."""
    with pytest.raises(SystemExit) as ended, patch.object(typer.main, "get_command", _made):
        main([str(argument) for argument in arguments])
    return ended.value.code


def ended_well(*arguments: str | Path) -> None:
    """Runs one command in this process, for what is made once for several tests."""
    assert exit_code(*arguments) == 0


@pytest.fixture
def run(out: Path, tmp_path: Path) -> Path:
    """A copy of the output folder with one finished run of `tiny`."""
    return shutil.copytree(out, tmp_path / "out", symlinks=True)


@pytest.fixture
def digsite(capsys: pytest.CaptureFixture[str]) -> Digsite:
    """Runs one command in this process."""

    def run(*arguments: str | Path) -> Said:
        capsys.readouterr()
        code = exit_code(*arguments)
        out, err = capsys.readouterr()
        assert isinstance(code, int)
        return Said(code, out, err)

    return run
