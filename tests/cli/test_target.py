"""`--solve-rate` and `--for` from the command line to the data set, with the demo model in two strengths."""

from pathlib import Path

import polars as pl
import pytest

from tests.cli.conftest import Digsite

NAMED = ("--set", "models.policies.small.model=embedded-weak", "--for", "small")
QUICK = ("--retriever", "bm25", "--set", "loop.rounds=1", "--set", "loop.audit=false")


@pytest.mark.slow
def test_solve_rate_selects_pairs_that_the_model_sometimes_solves(digsite: Digsite, tmp_path: Path) -> None:
    target = (*NAMED, "--solve-rate", "0.2-0.8", "--seeds", "10")
    output = digsite("generate", "tiny", *QUICK, *target, "--out", tmp_path, "--no-flow")
    assert output.code == 0
    line = "target: 1 to 3 of 4 tries of small correct (a solve rate of 20 to 80 %), whatever steps it takes"
    assert line in " ".join(output.err.split())
    run = tmp_path / "tiny" / "latest"
    pairs = pl.read_parquet(run / "dataset" / "qa")
    rates = [
        assessment["solve_rate"]
        for row in pairs["assessments"]
        for assessment in row
        if assessment["policy"] == "small"
    ]
    assert len(rates) == len(pairs) > 0
    assert all(0.2 <= rate <= 0.8 for rate in rates)
    assert "of 4 tries of small correct" in (run / "report.html").read_text()
    assert "of 4 tries of small correct" in (run / "dataset" / "README.md").read_text()
    page = digsite("inspect", "latest", "--out", tmp_path, "--item", pairs["id"][0]).out
    assert "rollouts of the model in training" in page


def test_two_rollouts_are_too_few_for_a_wide_band(digsite: Digsite, tmp_path: Path) -> None:
    few = (*NAMED, "--solve-rate", "0.2-0.8", "--set", "loop.rollouts=2", "--seeds", "1")
    output = " ".join(digsite("generate", "tiny", *QUICK, *few, "--out", tmp_path, "--no-flow").err.split())
    assert "target: 1 of 2 tries" in output
    assert "raise loop.rollouts" in output
