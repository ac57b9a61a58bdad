"""A data set for a policy is measured in the run, remeasured, and exported for that policy."""

import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.cli.conftest import SMALL, Digsite, run_well

NAMED = ("--set", 'models.policies.weak={model = "embedded-weak"}', "--for", "weak")


def read_rows(folder: Path, view: str) -> list[dict[str, Any]]:
    return [
        row for path in sorted((folder / "dataset" / view).glob("*.parquet")) for row in pq.read_table(path).to_pylist()
    ]


@pytest.fixture(scope="module")
def weak_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weak")
    run_well("generate", "tiny", *SMALL, *NAMED, "--pairs", "4", "--no-flow", "--out", folder)
    return folder


@pytest.fixture
def folder(weak_folder: Path, tmp_path: Path) -> Path:
    return shutil.copytree(weak_folder, tmp_path / "weak", symlinks=True)


@pytest.mark.slow
def test_a_run_for_a_policy_takes_a_later_checkpoint_and_is_exported_for_either(digsite: Digsite, folder: Path) -> None:
    run, out = folder / "tiny" / "latest", ("--out", folder)
    assert [assessment["policy"] for assessment in read_rows(run, "qa")[0]["assessments"]] == ["", "weak"]
    files = {path.name: path.read_bytes() for path in (run / "dataset/qa").iterdir()}

    later: tuple[str | Path, ...] = ("remeasure", "tiny", "--policy", "weak", "--model", "embedded", *out)
    output = digsite(*later, "--budget-seconds", "0.000001")
    assert (output.code, output.err.count("the same command continues")) == (3, 1)
    assert {path.name: path.read_bytes() for path in (run / "dataset/qa").iterdir()} == files
    refused = digsite(*later, "--json")
    assert (refused.code, refused.out) == (2, "")
    assert "would remove rl_openrlhf, " in refused.err
    assert "; what was measured is kept" in refused.err
    assert read_rows(run, "rl_trl"), "a trainer may be reading them"
    later = (*later, "--allow-removal")
    summary = digsite(*later, "--json").json
    assert (summary["policy"], summary["model"], summary["questions"], summary["solve_rate"]) == (
        "weak",
        "embedded",
        4,
        1.0,
    )
    assert digsite(*later, "--json").json == summary
    assert len(list((run / "remeasured").glob("weak-*.jsonl"))) == 1
    assert len(digsite(*later, "--set", "models.policies.weak.sampling.temperature=0.3", "--json").json) == len(summary)
    assert len(list((run / "remeasured").glob("weak-*.jsonl"))) == 2
    assert digsite(*later, "--set", "loop.rollouts=9").code == 2

    # The run targets this policy, and questions that it always solves teach it nothing.
    assert {row["assessments"][-1]["model"] for row in read_rows(run, "qa")} == {"embedded"}
    assert not read_rows(run, "rl_trl")
    export = (
        "export",
        "tiny",
        *out,
        "--allow-removal",
        "--for",
        "weak",
        "--set",
        "sft.select=all",
        "--set",
        'sft.source=["policy"]',
    )
    messages = digsite(*export).err
    assert "no rl_*: 4 that all solved; for RL: digsite generate CORPUS --for NAME --solve-rate 0.2-0.8" in messages
    assert "rl_trl (needs a question" in messages
    messages = digsite(*export, "--set", "gates.solve_rate=[0.1,1]").err
    assert {row["solve_rate"] for row in read_rows(run, "rl_trl")} == {1.0}
    assert "rl_* views: 4 questions" in messages
    assert {row["agent"] for row in read_rows(run, "sft")} == {"policy"}


@pytest.mark.slow
def test_pairs_that_a_policy_has_outgrown_are_replaced(digsite: Digsite, folder: Path) -> None:
    run, out = folder / "tiny" / "latest", ("--out", folder)
    refill = ("remeasure", "tiny", "--refill", *out)
    output = digsite(*refill)
    assert (output.code, output.err.count("no solve rate is set for weak, so no pair is outgrown")) == (2, 1)
    band = ("--for", "weak", "--set", "gates.solve_rate=[0.0,0.9]")
    assert digsite("export", "tiny", *band, *out).code == 0
    remaining = len(read_rows(run, "qa"))
    assert remaining < 4, "some of the pairs are solved at every try"
    summary = digsite(*refill, "--json").json
    assert summary["questions"] > 4
    assert summary["outgrown"] == summary["questions"] - len(read_rows(run, "qa"))
    assert {row["assessments"][-1]["solve_rate"] < 0.9 for row in read_rows(run, "qa")} == {True}
    assert remaining < len(read_rows(run, "qa")) <= 4

    # The run does not measure this policy, so every new pair would be dropped until no seed is left.
    assert digsite("remeasure", "tiny", "--policy", "other", "--model", "embedded", *out).code == 0
    export = ("export", "tiny", "--for", "other", "--set", "gates.solve_rate=[0.0,0.9]", "--allow-removal")
    assert digsite(*export, *out).code == 0
    output = digsite("resume", "tiny", "--no-flow", *out)
    assert (output.code, output.err.count("this run has no policy 'other'")) == (2, 1)
