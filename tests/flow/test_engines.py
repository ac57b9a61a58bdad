"""The engines as a user has them: through Prefect, by the real command."""

import importlib.util
import re
from contextvars import copy_context
from pathlib import Path

import pytest

from pipeline.config import build
from pipeline.config.runtime import Runtime
from pipeline.errors import UsageError
from pipeline.flow import engines
from pipeline.run import LogCallbacks, stages
from tests.cli.conftest import SMALL
from tests.flow.test_display import MAIN, SHOWN, digsite, left_of
from tests.left import files


@pytest.mark.slow
@pytest.mark.parametrize("engine", ["dask", "ray"])
def test_an_engine_gives_the_bytes_of_one_process_and_leaves_nothing_running(tmp_path: Path, engine: str) -> None:
    """Ray is no part of the environment: `uv sync --extra ray`, then `pytest -m slow tests/flow/test_engines.py`."""
    if importlib.util.find_spec(f"prefect_{engine}") is None:
        pytest.skip(f"prefect-{engine} is not here; 'uv sync --extra {engine}' installs it")
    given = ("generate", "tiny", *SMALL, "--seeds", "24", "--json")
    made = digsite(MAIN, *given, "--engine", engine, "--workers", "2", "--out", tmp_path / engine)
    assert made.returncode == 0, made.stderr
    assert left_of(tmp_path) == []
    said = re.compile(rf"[a-zA-Z ]+: \d+/24 seeds|{SHOWN}")
    assert all(map(said.match, made.stderr.splitlines())), "the engine is not quiet"
    whole = digsite("pipeline.cli", *given, "--out", tmp_path / "whole")
    assert whole.returncode == 0, whole.stderr
    assert files(tmp_path / engine / "tiny/latest/dataset") == files(tmp_path / "whole/tiny/latest/dataset")


def test_an_engine_that_is_not_here_is_one_line_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.run.prepare.find_spec", lambda name: None)
    config = build(values={"corpus": {"name": "tiny"}, "how": {"out": tmp_path, "engine": "ray"}})
    with pytest.raises(UsageError, match=r"pip install 'digsite\[ray\]'"):
        stages.read(config, LogCallbacks())
    assert not (tmp_path / "corpora").exists()


@pytest.mark.slow
def test_a_cluster_that_does_not_answer_is_one_line() -> None:
    how = Runtime(engine="dask", address="tcp://127.0.0.1:9")
    with (
        pytest.raises(UsageError, match="no workers of dask at tcp://127.0.0.1:9: "),
        engines.started(how, copy_context()),
    ):
        pass
