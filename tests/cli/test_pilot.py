"""A pilot forecasts the run that it begins."""

from pathlib import Path

import pytest

from tests.cli.conftest import SMALL, Digsite
from tests.simulated_endpoint import get_json, run_endpoints


def test_a_pilot_forecasts_and_the_run_continues_it(digsite: Digsite, tmp_path: Path) -> None:
    output = digsite("pilot", "tiny", *SMALL, "--pairs", "2", "--forecast", "40", "--out", tmp_path, "--json")
    assert output.code == 0
    tree = output.json
    assert tree["accepted"] == 2 <= tree["seeds"]
    assert tree["forecast"]["pairs"] == 40
    assert tree["forecast"]["amounts"]["seeds"]["value"] == 40 / 2 * tree["seeds"]
    assert tree["confirmed"]["whole"] >= 2
    assert tree["spent"]["per_pair"]["calls"] > 0
    run = digsite("generate", "tiny", *SMALL, "--pairs", "3", "--out", tmp_path, "--no-flow", "--json").json
    assert run["run"] == tree["run"]
    assert run["accepted"] == 3


def test_a_pilot_prints_its_forecast(digsite: Digsite, tmp_path: Path) -> None:
    output = digsite("pilot", "tiny", *SMALL, "--pairs", "2", "--out", tmp_path)
    for needed in (
        "for 1,000 pairs",
        "expected",
        "yield",
        "candidates that were accepted",
        "per accepted pair",
        "prompt tokens",
    ):
        assert needed in output.out
    assert "these figures describe the pipeline, not the quality of the data" in output.err


SERVED = ["--model", "openai:m", "--set", "models.default.limits.concurrency=4"]
SERVED += ["--set", "models.default.prices={prompt=2, completion=6, cached=0.5}"]
SERVED += ["--set", "difficulty.adversarial=false"]  # a simulated seeker answers each question at once


@pytest.mark.slow
def test_a_pilot_counts_the_tokens_that_a_server_bills(digsite: Digsite, tmp_path: Path) -> None:
    """A simulated answer has 40 tokens, 30 of them thoughts, and half of each prompt in the server's prefix cache."""
    small = [*SMALL, *SERVED, "--pairs", "2", "--forecast", "40", "--concurrency", "1", "--json"]
    with run_endpoints(0.01) as url:
        served = [*small, "--base-url", url]
        first = digsite("pilot", "tiny", *served, "--out", tmp_path / "a").json
        answered = get_json(url, "stats")["answered"]
        spent, amounts = first["spent"]["total"], first["forecast"]["amounts"]
        assert spent["calls"] == answered == sum(role["calls"] for role in first["spent"]["roles"].values())
        assert (spent["completion_tokens"], spent["thinking_tokens"]) == (40 * answered, 30 * answered)
        assert 0 <= spent["computed_prompt_tokens"] - spent["cached_prompt_tokens"] <= 2 * answered
        tokens = [spent[f"{kind}_tokens"] for kind in ("computed_prompt", "cached_prompt", "completion")]
        paid = (2 * tokens[0] + 0.5 * tokens[1] + 6 * tokens[2]) / 1e6
        assert spent["money"] == pytest.approx(paid)
        # The calls that find out how the model calls tools are paid once, whatever the number of pairs.
        assert amounts["money"]["value"] == pytest.approx(paid * 40 / first["accepted"], rel=0.05)

        # Another run of the same questions is answered by Digsite's cache: nothing is billed, and what a fresh run
        # would be billed is forecast all the same.
        (tmp_path / "b").mkdir()
        (tmp_path / "a" / "cache.sqlite").rename(tmp_path / "b" / "cache.sqlite")
        again = digsite("pilot", "tiny", *served, "--out", tmp_path / "b").json
        assert get_json(url, "stats")["answered"] == answered
        assert (again["spent"]["total"]["calls"], again["spent"]["total"]["money"]) == (0, 0.0)
        assert again["spent"]["total"]["calls_from_digsite_cache"] >= answered
        for name in ("calls", "computed prompt tokens", "cached prompt tokens", "completion tokens", "money"):
            assert again["forecast"]["amounts"][name] == pytest.approx(amounts[name])
