"""A data set for a model to be trained, from the command line: measured in the run, remeasured, exported for it."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from tests.cli.conftest import SMALL, Digsite

NAMED = ("--set", 'models.policies.weak={model = "embedded-weak"}', "--for", "weak")


def rows(folder: Path, view: str) -> list[dict[str, Any]]:
    return [
        row for path in sorted((folder / "dataset" / view).glob("*.parquet")) for row in pq.read_table(path).to_pylist()
    ]


def test_a_run_for_a_policy_takes_a_later_checkpoint_and_is_exported_for_either(
    digsite: Digsite, tmp_path: Path
) -> None:
    made = digsite("generate", "tiny", *SMALL, *NAMED, "--pairs", "4", "--no-flow", "--out", tmp_path, "--json").json
    run, out = Path(made["run"]), ("--out", tmp_path)
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
    export = ("export", "tiny", *out, "--for", "weak", "--include", "always_solved", "--set", "sft.select=all")
    assert digsite(*export, "--set", 'sft.source=["policy"]').code == 0
    assert {row["solve_rate"] for row in rows(run, "rl_trl")} == {1.0}
    assert {row["agent"] for row in rows(run, "sft")} == {"policy"}
