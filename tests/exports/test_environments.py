"""The packages of `export --environment` hold what the data set has, and the same bytes each time."""

import json
import runpy
import statistics
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pipeline.config import build
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
    code = FRAMEWORKS[framework].code.format(module="digsite_fells")
    code_files = _read_files(package / code)
    assert code_files["reward.py"] == (run / "dataset" / "code" / "reward.py").read_bytes()
    written = json.loads(code_files["environment.json"])
    assert written == json.loads((run / "dataset" / "environment.json").read_bytes())
    rows = [json.loads(line) for line in code_files["questions.jsonl"].split(b"\n")[:-1]]
    assert [row["split"] for row in rows].count("eval") == 1
    assert all(row["question"] and row["golden_answers"] and row["id"] for row in rows)
    compiled = [sys.executable, "-m", "compileall", "-q", str(package)]
    assert subprocess.run(compiled, check=False).returncode == 0
    assert _read_files(write_package(run, framework)) == files


def test_a_package_reads_questions_with_any_line_separator_in_them(run: Path) -> None:
    package = write_package(run, "verifiers") / "digsite_fells"
    lines = (package / "questions.jsonl").read_text(encoding="utf-8").split("\n")
    row = json.loads(lines[0]) | {"question": "One\u2028two\x85three?", "split": "train"}
    (package / "questions.jsonl").write_text("\n".join([json.dumps(row, ensure_ascii=False), *lines[1:]]))
    questions = runpy.run_path(str(package / "questions.py"))["load_questions"]("train")
    assert [question["question"] for question in questions].count(row["question"]) == 1


def test_the_rows_of_nemo_gym_begin_as_sft_does_and_each_has_its_profile(run: Path) -> None:
    data = write_package(run, "nemo-gym") / "resources_servers" / "digsite_fells" / "data"
    train, validation, profile = (
        [json.loads(line) for line in (data / f"{name}.jsonl").read_text(encoding="utf-8").split("\n")[:-1]]
        for name in ("train", "validation", "solver_reward_profiling")
    )
    assert len(validation) == 1
    sft = pq.read_table(run / "dataset" / "sft" / "train-00000-of-00001.parquet").to_pylist()[0]
    messages = [json.loads(message) for message in sft["messages"]]
    rows = {row["responses_create_params"]["input"][1]["content"]: row for row in train}
    row = rows[messages[1]["content"]]
    assert row["responses_create_params"]["input"][0]["content"] == messages[0]["content"]
    tools = [{"type": "function", **tool["function"], "strict": False} for tool in json.loads(sft["tools"])]
    assert row["responses_create_params"]["tools"] == tools
    by_id = {row["id"]: index for rows in (train, validation) for index, row in enumerate(rows)}
    assert [by_id[line["sample"]["id"]] for line in profile] == [line["_ng_task_index"] for line in profile]
    for line in profile:
        rewards = [info["reward"] for info in line["rollout_infos"]]
        assert line["num_rollouts"] == len(rewards)
        assert line["mean/reward"] == statistics.fmean(rewards)
        assert line["std/reward"] == statistics.stdev(rewards)
    assert any(0 < line["mean/reward"] < 1 for line in profile)


def test_a_framework_that_reads_native_calls_only_refuses_a_run_with_calls_in_words(run: Path) -> None:
    values = CONFIG.model_dump(mode="json", exclude_defaults=True)
    values["models"]["default"]["tools"] = "text"
    export([accepted(0)], run / "words" / "dataset", Selection(config=build(values=values)))
    assert write_package(run / "words", "openenv").is_dir()
    for framework in ("verifiers", "nemo-gym"):
        with pytest.raises(UsageError, match="models.solver.tools=native"):
            write_package(run / "words", framework)


def test_a_run_without_questions_and_an_unknown_framework_are_refused(run: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no framework 'gymnasium'|gymnasium"):
        write_package(run, "gymnasium")
    export([], tmp_path / "empty" / "dataset", Selection(config=CONFIG))
    with pytest.raises(UsageError, match="has no rows in the view rl_verifiers"):
        write_package(tmp_path / "empty", "verifiers")
