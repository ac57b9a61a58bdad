"""The engines run through Prefect by the real command, as a user runs them."""

import importlib.util
import re
import shlex
import socket
import subprocess
import sys
from contextlib import ExitStack
from contextvars import copy_context
from pathlib import Path

import pytest

from pipeline.config import build
from pipeline.config.runtime import Runtime
from pipeline.errors import UsageError
from pipeline.flow import engines
from pipeline.run import LogCallbacks, stages
from tests.cli.conftest import SMALL
from tests.docs.blocks import read_blocks
from tests.flow.test_display import MAIN, SHOWN, digsite, find_leftovers
from tests.run_files import read_files


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_an_engine_gives_the_bytes_of_one_process_and_leaves_nothing_running(tmp_path: Path, engine: str) -> None:
    """Ray is no part of the environment: `uv sync --extra ray`, then `pytest -m slow tests/flow/test_engines.py`."""
    if importlib.util.find_spec(f"prefect_{engine}") is None:
        pytest.skip(f"prefect-{engine} is not here; 'uv sync --extra {engine}' installs it")
    arguments = ("generate", "tiny", *SMALL, "--seeds", "24", "--json")
    distributed = digsite(MAIN, *arguments, "--engine", engine, "--workers", "2", "--out", tmp_path / engine)
    assert distributed.returncode == 0, distributed.stderr
    assert find_leftovers(tmp_path) == []
    progress = re.compile(rf"[a-zA-Z ]+: \d+/24 seeds|after 20 seeds: aim 1 gave |{SHOWN}")
    assert all(map(progress.match, distributed.stderr.splitlines())), "the engine is not quiet"
    single_process = digsite("pipeline.cli", *arguments, "--out", tmp_path / "whole")
    assert single_process.returncode == 0, single_process.stderr
    assert read_files(tmp_path / engine / "tiny/latest/dataset") == read_files(tmp_path / "whole/tiny/latest/dataset")


@pytest.mark.slow
def test_the_commands_of_the_page_give_the_bytes_of_one_process_by_two_workers(tmp_path: Path) -> None:
    """A scheduler and two workers, each a process that the command does not start."""
    (block,) = (block for block in read_blocks("docs/howto/machines.md") if "dask scheduler" in block.text)
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = str(probe.getsockname()[1])
    *cluster, (_, *arguments) = block._replace(text=block.text.replace("8786", port).replace("wiki", "tiny")).commands
    assert [words[1] for words in cluster] == ["scheduler", "worker", "worker"]
    options = (*SMALL, "--seeds", "12", "--json", "--out")
    with ExitStack() as stack:
        for number, words in enumerate(cluster):
            log = stack.enter_context((tmp_path / f"{number}.log").open("w"))
            command = [str(Path(sys.executable).with_name("dask")), *words[1:]]
            process = stack.enter_context(subprocess.Popen(command, stdout=log, stderr=log, cwd=tmp_path))
            stack.callback(process.terminate)
        distributed = digsite(MAIN, *arguments, *options, tmp_path / "dask")
        assert distributed.returncode == 0, f"{shlex.join(arguments)}\n{distributed.stderr}"
    for number in (1, 2):
        assert "digsite-batch" in (tmp_path / f"{number}.log").read_text(), "a worker had no batch"
    single_process = digsite("pipeline.cli", "generate", "tiny", *options, tmp_path / "whole")
    assert single_process.returncode == 0, single_process.stderr
    assert read_files(tmp_path / "dask/tiny/latest/dataset") == read_files(tmp_path / "whole/tiny/latest/dataset")


def test_an_engine_that_is_not_here_is_one_line_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.run.prepare.find_spec", lambda name: None)
    config = build(values={"corpus": {"name": "tiny"}, "runtime": {"out": tmp_path, "engine": "ray"}})
    with pytest.raises(UsageError, match=r"pip install 'digsite\[ray\]'"):
        stages.read(config, LogCallbacks())
    assert not (tmp_path / "corpora").exists()


@pytest.mark.slow
def test_a_cluster_that_does_not_answer_is_one_line() -> None:
    how = Runtime(engine="dask", address="tcp://127.0.0.1:9")
    with (
        pytest.raises(UsageError, match="no workers of dask at tcp://127.0.0.1:9: "),
        engines.start_workers(how, copy_context()),
    ):
        pass
