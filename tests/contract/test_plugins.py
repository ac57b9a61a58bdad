"""Every plug-in folder has its contract test, and whatever is dropped into the folder is enrolled in it.

A package with a contract (`base.py` with a Protocol) is a plug-in folder; a module that has what the Protocol asks for,
at its top level or in a class, is a plug-in. Whether it is enrolled is read off the names of the collected tests, in a
copy of the tree into which one more plug-in of every kind was dropped.
"""

import ast
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.audit import shortcuts, soundness
from tests.contract.enrolment import PIPELINE, asked, functions, has, plugins
from tests.rules.source import ROOT

FOLDERS = sorted(path.parent.name for path in PIPELINE.glob("*/base.py"))
DIRECTORY = {
    "distractors": "doppelganger",
    "gates": "solve_rate",
    "readers": "jsonl",
    "retrieval": "bm25",
    "strategies": "sage",
    "views": "qa",
}
"""The folders in which one file is all (and a prompt, of a distractor): a module is the plug-in. With the one that is
planted again."""
PLANTED = "zz_planted"


def contract(folder: str) -> str:
    return {"retrieval": "test_retrievers"}.get(folder, f"test_{folder}")


def enrolled(collected: str, folder: str, plugin: str) -> bool:
    """Is there a test of the folder's contract whose parameters name the plug-in?"""
    return bool(re.search(rf"tests/contract/{contract(folder)}\.py::\S+\[(?:\S*-)?{plugin}\b", collected))


@pytest.fixture(scope="module")
def collected(tmp_path_factory) -> str:
    """The ids of all contract tests, with one more plug-in in each folder of DIRECTORY."""
    copy: Path = tmp_path_factory.mktemp("tree")
    unwanted = shutil.ignore_patterns("__pycache__")
    for name in ("pipeline", "prompts", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=unwanted)
    (copy / "corpora").symlink_to(ROOT / "corpora")
    shutil.copy(ROOT / "pyproject.toml", copy)
    (copy / "tests/contract/test_plugins.py").unlink()
    for folder, plugin in DIRECTORY.items():
        file = copy / "pipeline" / folder / f"{plugin}.py"
        shutil.copy(file, file.with_name(f"{PLANTED}.py"))
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-o",
        "addopts=",
        "--collect-only",
        "-q",
        "-W",
        "ignore",
        "-p",
        "no:cacheprovider",
    ]
    result = subprocess.run(
        [*command, "tests/contract"], cwd=copy, capture_output=True, text=True, timeout=120, check=False
    )
    if result.returncode:
        pytest.fail(result.stdout[-600:])
    return result.stdout


@pytest.mark.parametrize("folder", FOLDERS)
def test_every_plugin_folder_has_its_contract_test(folder: str) -> None:
    assert plugins(folder)
    assert (ROOT / f"tests/contract/{contract(folder)}.py").is_file(), f"pipeline/{folder} has no contract test"


@pytest.mark.parametrize(("folder", "plugin"), [(folder, plugin) for folder in FOLDERS for plugin in plugins(folder)])
def test_every_plugin_is_enrolled(collected: str, folder: str, plugin: str) -> None:
    assert enrolled(collected, folder, plugin), f"no test of {contract(folder)} runs for '{plugin}'"


@pytest.mark.parametrize("folder", DIRECTORY)
def test_to_drop_a_file_in_is_to_enrol_it(collected: str, folder: str) -> None:
    assert enrolled(collected, folder, PLANTED)


@pytest.mark.parametrize("module", [soundness, shortcuts], ids=lambda module: module.__name__.rpartition(".")[2])
def test_every_audit_check_runs_and_is_tested(module) -> None:
    """A check is a public function of its module: all are in CHECKS, and a test of the audit names each."""
    tree = ast.parse(Path(module.__file__).read_text())
    public = {name for name in functions(tree) if not name.startswith("_")}
    assert {check.__name__ for check in module.CHECKS} == public
    tests = "".join(path.read_text() for path in (ROOT / "tests/audit").glob("test_*.py"))
    assert [name for name in sorted(public) if not re.search(rf"\b{name}\b", tests, re.IGNORECASE)] == []


def test_the_rules_of_this_file_see_what_they_should() -> None:
    base = "class Kind(Protocol):\n    X: int\n    def f(self): ...\n    async def g(self): ..."
    assert asked(base) == {"f", "g"}
    assert has("def f(): ...\nasync def g(): ...", {"f", "g"})
    assert has("class A:\n    def f(self): ...\n    def g(self): ...", {"f", "g"})
    assert has("class A(B):\n    def f(self): ...\n    def g(self): ...", {"f", "g", "h"})
    assert not has("def f(): ...\nclass A:\n    def g(self): ...", {"f", "g"})
    ids = "tests/contract/test_views.py::test_rows[qa]\ntests/contract/test_views.py::test_x[0-records]"
    assert enrolled(ids, "views", "qa")
    assert enrolled(ids, "views", "records")
    assert not enrolled(ids, "views", "sft")
    assert not enrolled(ids, "readers", "qa")
