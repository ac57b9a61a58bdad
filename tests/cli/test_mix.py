"""`mix` as a user meets it."""

from pathlib import Path

import pytest

from tests.cli.conftest import SMALL, Digsite


@pytest.fixture
def runs(run: Path, digsite: Digsite) -> Path:
    """An output folder with two runs of `tiny`."""
    assert digsite("generate", "tiny", *SMALL, "--seeds", "8", "--seed", "1", "--out", run).code == 0
    return run


def test_runs_become_one_data_set_with_a_version(digsite: Digsite, runs: Path, tmp_path: Path) -> None:
    both = sorted(path.name for path in (runs / "tiny").iterdir() if not path.is_symlink())
    command = ("mix", *both, "--out", runs, "-o", tmp_path / "mix")
    made = digsite(*command, "--json").json
    assert sorted(run["run"] for run in made["mix"]["runs"]) == both
    assert made["mix"]["version"] == "1"
    again = digsite(*command, "--quota", "answer_type:date=0.5", "--version", "dates")
    assert again.code == 0
    assert "answer_type:date" in again.out
    assert "version dates" in again.out
    assert "demo model" in again.err
    refused = digsite("push", tmp_path / "mix", "--repo", "org/name", "--yes")
    assert (refused.code, "demo model" in refused.err) == (2, True)


def test_views_that_belong_to_one_environment_are_named_where_runs_have_several(
    digsite: Digsite, run: Path, tmp_path: Path
) -> None:
    other = digsite("generate", "tiny", *SMALL, "--seeds", "8", "--set", "retrieval.k=2", "--out", run)
    assert other.code == 0
    both = sorted(path.name for path in (run / "tiny").iterdir() if not path.is_symlink())
    made = digsite("mix", *both, "--out", run, "-o", tmp_path / "mix")
    assert made.code == 0
    assert "the runs have several environments; left out: adp, critic, dpo" in made.err
    assert not (tmp_path / "mix" / "sft").exists()
