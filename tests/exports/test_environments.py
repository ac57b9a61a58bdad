"""The packages of `export --environment` hold what the data set has, and the same bytes each time."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.errors import UsageError
from pipeline.exports.data_set import Selection, export
from pipeline.exports.environments import FRAMEWORKS, write_package
from tests.consumers.test_consumers import CONFIG
from tests.records import accepted


@pytest.fixture
def run(tmp_path: Path) -> Path:
    records = [accepted(n, "eval" if n == 3 else "train") for n in range(4)]
    export(records, tmp_path / "dataset", Selection(config=CONFIG))
    return tmp_path


def _read_files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_package_has_the_questions_the_environment_and_the_reward(run: Path, framework: str) -> None:
    package = write_package(run, framework)
    files = _read_files(package)
    (module,) = {path.split("/")[0] for path in files if "/" in path}
    assert files[f"{module}/reward.py"] == (run / "dataset" / "code" / "reward.py").read_bytes()
    written = json.loads(files[f"{module}/environment.json"])
    assert written == json.loads((run / "dataset" / "environment.json").read_bytes())
    rows = [json.loads(line) for line in files[f"{module}/questions.jsonl"].splitlines()]
    assert [row["split"] for row in rows].count("eval") == 1
    assert all(row["question"] and row["golden_answers"] and row["id"] for row in rows)
    compiled = [sys.executable, "-m", "compileall", "-q", str(package)]
    assert subprocess.run(compiled, check=False).returncode == 0
    assert _read_files(write_package(run, framework)) == files


def test_a_run_without_questions_and_an_unknown_framework_are_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no framework 'gymnasium'|gymnasium"):
        write_package(run, "gymnasium")
    export([], tmp_path / "empty" / "dataset", Selection(config=CONFIG))
    with pytest.raises(UsageError, match="has no rows in the view rl_verifiers"):
        write_package(tmp_path / "empty", "verifiers")
