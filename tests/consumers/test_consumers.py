"""Each consumer's own code on shards as `export` writes them; what it said goes to `docs/CONSUMERS.md`.

`make test-consumers` runs it: it installs some gigabytes of packages into `.consumers/`, once.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pipeline.config import RunConfig
from pipeline.export import Selection, export
from pipeline.views import base
from tests.consumers import environments
from tests.forks import branched
from tests.lessons import taught
from tests.records import hostile

SCRIPTS = {
    "readers": ("trl", "with_readers.py"),
    "TRL": ("trl", "with_trl.py"),
    "verl": ("verl", "with_verl.py"),
    "LLaMA-Factory": ("llamafactory", "with_llamafactory.py"),
    "verifiers": ("verifiers", "with_verifiers.py"),
    "OpenRLHF": ("openrlhf", "with_openrlhf.py"),
}
RULES_ONLY = {
    "adp": ("Agent Data Protocol", "tests/views/test_adp.py: not on a package index"),
    "steps": ("SRL, PivotRL", "tests/views/test_steps.py: no public loader"),
    "critic": ("critics in the manner of DeepVerifier", "tests/views/test_critic.py: no public loader"),
    "planner": ("APEX-Searcher", "tests/views/test_planner.py: no public code"),
    "rl_search_r1": ("Search-R1", "tests/views/test_rl_search_r1.py: its scorer, transcribed; not on a package index"),
}
"""Views whose consumer cannot be installed: the rules as code, and where they stand."""
HEAD = """# What was loaded by whom

Written by `make test-consumers`: each consumer's own code, in an environment of its own, on the shards of a small
synthetic data set. "Rules only" is what no package could be installed for; the named test holds its rules as code.

| consumer | version | view | what was done | result |
|---|---|---|---|---|
"""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "dataset"
    records = [
        *(branched(n, "qwen", "eval" if n % 6 == 5 else "train") for n in range(24)),
        *(taught(n, "qwen", "eval" if n % 6 == 5 else "train") for n in range(24, 36)),
    ]
    export(records, folder, Selection(config=RunConfig()))
    return folder


@pytest.fixture(scope="module")
def said() -> Iterator[list[dict[str, Any]]]:
    """What every script says, written down when all have spoken and none is missing."""
    lines: list[dict[str, Any]] = []
    yield lines
    if len({line["consumer"] for line in lines}) == len(SCRIPTS):
        (environments.ROOT / "docs/CONSUMERS.md").write_text(HEAD + "".join(map(_row, [*lines, *_rules()])))


def _rules() -> list[dict[str, Any]]:
    return [
        {"consumer": consumer, "version": "–", "view": view, "check": where, "result": "rules only"}
        for view, (consumer, where) in RULES_ONLY.items()
    ]


def _row(line: dict[str, Any]) -> str:
    told = f"{line['result']}, {date.today().isoformat()}" if line["result"] != "rules only" else line["result"]  # noqa: DTZ011
    return f"| {line['consumer']} | {line['version']} | `{line['view']}` | {line['check']} | {told} |\n"


def _ask(name: str, folder: Path) -> list[dict[str, Any]]:
    environment, script = SCRIPTS[name]
    done = subprocess.run(
        [environments.python(environment), Path(__file__).parent / script, folder],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder.parent / "hf"), "CUDA_VISIBLE_DEVICES": ""},
        cwd=folder.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line[7:]) for line in done.stdout.splitlines() if line.startswith("result ")]


@pytest.mark.network
@pytest.mark.parametrize("name", SCRIPTS)
def test_the_consumers_own_code_takes_its_views(name: str, dataset: Path, said: list[dict[str, Any]]) -> None:
    found = _ask(name, dataset)
    assert found
    said += [{"consumer": name, "result": "passed", **line} for line in found]


@pytest.mark.network
def test_readers_take_hostile_text(tmp_path: Path) -> None:
    export([hostile(n) for n in range(3)], tmp_path / "dataset", Selection(config=RunConfig()))
    assert _ask("readers", tmp_path / "dataset")


def test_every_view_is_loaded_by_its_consumer_or_has_its_rules_as_code() -> None:
    scripts = "".join((Path(__file__).parent / script).read_text() for _, script in SCRIPTS.values())
    loaded = {view for view in base.names() if f'"{view}"' in scripts}
    ruled = {view for view in base.names() if (environments.ROOT / f"tests/views/test_{view}.py").is_file()}
    assert loaded | ruled == set(base.names())
    assert {"sft", "sft_sharegpt", "dpo", "kto", "rl_trl", "rl_verl_tool", "rl_openrlhf", "rl_verifiers"} <= loaded
