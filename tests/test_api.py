"""The Python API: the example of its page, and what a notebook needs of it."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest

import pipeline
from pipeline.errors import UsageError
from pipeline.run import RunResult

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "reference" / "api.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def config(tmp_path_factory) -> pipeline.RunConfig:
    out = tmp_path_factory.mktemp("api")
    small = {"steps": [1, 1], "loop": {"rounds": 0, "audit": False, "rollouts": 2}}
    values = {"corpus": {"name": "tiny"}, "retrieval": {"retriever": "bm25"}, "runtime": {"seeds": 4, "out": out}}
    return pipeline.build(values=values | small)


@pytest.mark.slow
def test_the_example_of_the_page_runs_as_it_stands(tmp_path: Path) -> None:
    code = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)[0]
    program = code.replace('Path("outputs")', f"Path({str(tmp_path)!r})")
    assert str(tmp_path) in program
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert re.match(r"[1-9] of \d+ seeds\n", done.stdout)
    assert "'sft'" in done.stdout.splitlines()[-1]


def test_it_runs_within_an_event_loop_as_a_notebook_does(config: pipeline.RunConfig) -> None:
    async def cell() -> RunResult:
        return pipeline.generate(config)

    result = asyncio.run(cell())
    assert result.planned == 4
    assert result.complete
    assert len(list(pipeline.records(result.folder))) == 4
    assert pipeline.resume(result.folder) == result
    assert pipeline.report(result.folder).is_file()


def test_a_run_that_is_not_there_is_a_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no run 'nope'"):
        pipeline.export("nope", out=tmp_path)


def test_remeasure_asks_for_the_model_of_an_unknown_policy(config: pipeline.RunConfig) -> None:
    folder = pipeline.generate(config).folder
    with pytest.raises(UsageError, match="no policy 'mine'.*--model"):
        pipeline.remeasure(folder, "mine")


def test_to_import_the_product_imports_nothing_heavy() -> None:
    program = "import pipeline, sys; print(sorted({'pyarrow', 'pydantic', 'prefect', 'openai'} & sys.modules.keys()))"
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
