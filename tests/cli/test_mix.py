"""`mix` as a user meets it."""

from pathlib import Path

import pytest

from tests.cli.conftest import SMALL, Digsite


@pytest.fixture
def runs(run: Path, digsite: Digsite) -> Path:
    """Return an output folder with two runs of `tiny`."""
    assert digsite("generate", "tiny", *SMALL, "--seeds", "8", "--seed", "1", "--out", run).code == 0
    return run


def test_runs_become_one_data_set_with_a_version(digsite: Digsite, runs: Path, tmp_path: Path) -> None:
    names = sorted(path.name for path in (runs / "tiny").iterdir() if not path.is_symlink())
    command = ("mix", *names, "--out", runs, "-o", tmp_path / "mix")
    mixed = digsite(*command, "--json").json
    assert sorted(run["run"] for run in mixed["mix"]["runs"]) == names
    assert mixed["mix"]["version"] == "1"
    repeated = digsite(*command, "--quota", "answer_type:date=0.5", "--version", "dates")
    assert repeated.code == 0
    assert "answer_type:date" in repeated.out
    assert "version dates" in repeated.out
    assert "demo model" in repeated.err
    refused = digsite("push", tmp_path / "mix", "--repo", "org/name", "--yes")
    assert (refused.code, "demo model" in refused.err) == (2, True)


def test_views_bound_to_one_environment_are_named_if_runs_have_several(
    digsite: Digsite, run: Path, tmp_path: Path
) -> None:
    generated = digsite("generate", "tiny", *SMALL, "--seeds", "8", "--set", "retrieval.k=2", "--out", run)
    assert generated.code == 0
    names = sorted(path.name for path in (run / "tiny").iterdir() if not path.is_symlink())
    mixed = digsite("mix", *names, "--out", run, "-o", tmp_path / "mix")
    assert mixed.code == 0
    assert "the runs have several environments; left out: adp, critic, dpo" in mixed.err
    assert not (tmp_path / "mix" / "sft").exists()
