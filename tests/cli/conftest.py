"""Run the command line in this process: arguments in; exit code, stdout and stderr out."""

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


class CommandOutput(NamedTuple):
    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return orjson.loads(self.out)


Digsite = Callable[..., CommandOutput]


build_command_once = cache(typer.main.get_command)
"""Cached because Typer rebuilds all commands for each call, and one test process makes hundreds of calls."""


def exit_code(*arguments: str | Path) -> object:
    """Run one command in this process and return its exit code."""
    with pytest.raises(SystemExit) as exit_info, patch.object(typer.main, "get_command", build_command_once):
        main([str(argument) for argument in arguments])
    return exit_info.value.code


def run_well(*arguments: str | Path) -> None:
    """Run one command in this process, for module-scoped fixtures."""
    assert exit_code(*arguments) == 0


@pytest.fixture
def run(out: Path, tmp_path: Path) -> Path:
    """Copy the output folder with one finished run of `tiny`."""
    return shutil.copytree(out, tmp_path / "out", symlinks=True)


@pytest.fixture
def digsite(capsys: pytest.CaptureFixture[str]) -> Digsite:
    """Return a function that runs one command in this process."""

    def run(*arguments: str | Path) -> CommandOutput:
        capsys.readouterr()
        code = exit_code(*arguments)
        out, err = capsys.readouterr()
        assert isinstance(code, int)
        return CommandOutput(code, out, err)

    return run
