"""A data set for a model to be trained, from the command line: measured in the run, remeasured, exported for it."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import SMALL, Digsite, ended_well

NAMED = ("--set", 'models.policies.weak={model = "embedded-weak"}', "--for", "weak")


def rows(folder: Path, view: str) -> list[dict[str, Any]]:
    return [
        row for path in sorted((folder / "dataset" / view).glob("*.parquet")) for row in pq.read_table(path).to_pylist()
    ]


@pytest.fixture(scope="module")
def made_for_weak(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weak")
    ended_well("generate", "tiny", *SMALL, *NAMED, "--pairs", "4", "--no-flow", "--out", folder)
    return folder


@pytest.fixture
def folder(made_for_weak: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made_for_weak, tmp_path / "weak", symlinks=True)


def test_a_run_for_a_policy_takes_a_later_checkpoint_and_is_exported_for_either(digsite: Digsite, folder: Path) -> None:
    run, out = folder / "tiny" / "latest", ("--out", folder)
    assert [one["policy"] for one in rows(run, "qa")[0]["assessments"]] == ["", "weak"]
    before = {path.name: path.read_bytes() for path in (run / "dataset/qa").iterdir()}

    later = ("remeasure", "tiny", "--policy", "weak", "--model", "embedded", *out)
    ended = digsite(*later, "--budget-seconds", "0.000001")
    assert (ended.code, ended.err.count("the same command continues")) == (3, 1)
    assert {path.name: path.read_bytes() for path in (run / "dataset/qa").iterdir()} == before
    found = digsite(*later, "--json").json
    assert (found["policy"], found["model"], found["questions"], found["solve_rate"]) == ("weak", "embedded", 4, 1.0)
    assert digsite(*later, "--json").json == found
    assert len(list((run / "remeasured").glob("weak-*.jsonl"))) == 1
    assert len(digsite(*later, "--set", "models.policies.weak.sampling.temperature=0.3", "--json").json) == len(found)
    assert len(list((run / "remeasured").glob("weak-*.jsonl"))) == 2
    assert digsite(*later, "--set", "loop.rollouts=9").code == 2

    # The run was for it, so what it always solves teaches it nothing.
    assert {row["assessments"][-1]["model"] for row in rows(run, "qa")} == {"embedded"}
    assert not rows(run, "rl_trl")
    export = ("export", "tiny", *out, "--for", "weak", "--set", "sft.select=all", "--set", 'sft.source=["policy"]')
    told = digsite(*export).err
    assert "rl_* views: 0 questions: 0 that some rollouts of weak solved and some did not; left out: 4 that" in told
    assert "rl_trl (needs a question" in told
    told = digsite(*export, "--set", "gates.solve_rate=[0.1,1]").err
    assert {row["solve_rate"] for row in rows(run, "rl_trl")} == {1.0}
    assert "rl_* views: 4 questions" in told
    assert {row["agent"] for row in rows(run, "sft")} == {"policy"}


def test_pairs_that_a_policy_has_outgrown_are_made_anew(digsite: Digsite, folder: Path) -> None:
    run, out = folder / "tiny" / "latest", ("--out", folder)
    refill = ("remeasure", "tiny", "--refill", *out)
    ended = digsite(*refill)
    assert (ended.code, ended.err.count("no solve rate is set for weak, so no pair is outgrown")) == (2, 1)
    band = ("--for", "weak", "--set", "gates.solve_rate=[0.0,0.9]")
    assert digsite("export", "tiny", *band, *out).code == 0
    left = len(rows(run, "qa"))
    assert left < 4, "some of the pairs are solved at every try"
    found = digsite(*refill, "--json").json
    assert found["questions"] > 4
    assert found["outgrown"] == found["questions"] - len(rows(run, "qa"))
    assert {row["assessments"][-1]["solve_rate"] < 0.9 for row in rows(run, "qa")} == {True}
    assert left < len(rows(run, "qa")) <= 4

    # A policy that the run does not measure: each new pair would be left out until no seed is left.
    assert digsite("remeasure", "tiny", "--policy", "other", "--model", "embedded", *out).code == 0
    assert digsite("export", "tiny", "--for", "other", "--set", "gates.solve_rate=[0.0,0.9]", *out).code == 0
    ended = digsite("resume", "tiny", "--no-flow", *out)
    assert (ended.code, ended.err.count("new pairs would not be measured for 'other'")) == (2, 1)
