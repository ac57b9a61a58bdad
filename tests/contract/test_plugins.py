"""A file in a plug-in folder is registered, and its contract tests run.

This is checked by the names of the collected tests, in a copy of the tree with one more plug-in of every kind.
"""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline import registry
from tests.rules.source import ROOT

DROPPED = {
    "branching": "cso",
    "checks": "oracle",
    "distractors": "doppelganger",
    "gates": "solve_rate",
    "operations": "extreme",
    "readers": "jsonl",
    "retrievers": "bm25",
    "strategies": "sage",
    "views": "qa",
}
"""Of every kind, the plug-in that is dropped in once more under the name PLANTED."""
PLUGINS = "zz_planted"


def is_tested(test_ids: str, kind: str, plugin: str) -> bool:
    """Return whether a contract test of that kind runs for the plug-in."""
    return bool(re.search(rf"tests/contract/test_{kind}\.py::\S+\[(?:\S*-)?{plugin}\b", test_ids))


@pytest.fixture(scope="module")
def test_ids(tmp_path_factory) -> str:
    """Collect the ids of all contract tests, with one more plug-in of every kind."""
    copy: Path = tmp_path_factory.mktemp("tree")
    for name in ("pipeline", "prompts", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("golden", "*.gguf"))
    for name in ("corpora", "docs"):
        (copy / name).symlink_to(ROOT / name)
    shutil.copy(ROOT / "pyproject.toml", copy)
    for kind, plugin in DROPPED.items():
        file = copy / registry.FOLDERS[kind].replace(".", "/") / f"{plugin}.py"
        shutil.copy(file, file.with_name(f"{PLUGINS}.py"))
    options = ["-o", "addopts=", "--collect-only", "-q", "-W", "ignore", "-p", "no:cacheprovider"]
    files = [f"tests/contract/test_{kind}.py" for kind in DROPPED]
    command = [sys.executable, "-m", "pytest", *options, *files]
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    result = subprocess.run(
        command, cwd=copy, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    if result.returncode:
        pytest.fail(result.stdout[-600:])
    return result.stdout


def test_every_kind_of_plugin_is_covered() -> None:
    assert DROPPED.keys() == registry.FOLDERS.keys()


def test_contract_tests_run_for_every_plugin_and_every_new_file(test_ids: str) -> None:
    plugins = [(kind, name) for kind in DROPPED for name in (*registry.names(kind), PLUGINS)]
    assert [plugin for plugin in plugins if not is_tested(test_ids, *plugin)] == []
