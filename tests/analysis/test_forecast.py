"""A forecast of the cost of many pairs scales the pilot's figures, with intervals."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from pipeline.analysis.forecast import Estimate, Forecast, SeedCost, forecast
from pipeline.config.models import Models
from pipeline.types import Usage

PRICES = {"prompt": 1.0, "completion": 3.0, "cached": 0.25}
SERVED: dict[str, Any] = {"provider": "openai", "model": "m", "base_url": "http://a:1/v1", "prices": PRICES}
MODELS = Models.model_validate({"default": SERVED})
USAGE = Usage(calls=10, prompt_tokens=9000, cached_tokens=6000, completion_tokens=1000, reasoning_tokens=800)


def make_seed(good: bool, usage: Usage = USAGE) -> SeedCost:
    return SeedCost(good, {"m": usage})


def make_forecast(seeds: Sequence[SeedCost], pairs: int, models: Models = MODELS) -> Forecast:
    return forecast(seeds, models, pairs)


def make_pilot(pairs: int, without_pair: int) -> list[SeedCost]:
    return [make_seed(True)] * pairs + [make_seed(False)] * without_pair


def get_interval(estimate: Estimate) -> tuple[float, float]:
    assert estimate.low is not None
    return estimate.low, np.inf if estimate.high is None else estimate.high


def test_the_expected_amounts_are_the_pilots_scaled() -> None:
    result = make_forecast(make_pilot(20, 60), 200)
    money = 800 * (3000 * 1.0 + 6000 * 0.25 + 1000 * 3.0) / 1e6
    expected = (800, 8000, 2_400_000, 4_800_000, 800_000, money)
    assert tuple(estimate.value for estimate in result.amounts.values()) == pytest.approx(expected)
    assert (result.seeds, result.accepted, result.pairs) == (80, 20, 200)
    for estimate in result.amounts.values():
        low, high = get_interval(estimate)
        assert low < (estimate.value or 0) < high
    assert result == make_forecast(make_pilot(20, 60), 200)


def test_more_seeds_make_a_narrower_interval_and_one_pair_none() -> None:
    widths = []
    for size in (4, 16, 64):
        low, high = get_interval(make_forecast(make_pilot(size, 3 * size), 100).amounts["seeds"])
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
    assert make_forecast(make_pilot(1, 7), 100).amounts["seeds"].high is None


def draw_seed(chance: np.random.Generator) -> SeedCost:
    """Draw a seed that gives a pair with 0.3 and then costs more; its tokens have a long tail."""
    good = bool(chance.random() < 0.3)
    size = chance.lognormal(0.0, 0.8) * (1.5 if good else 1.0)
    usage = Usage(
        calls=1 + int(10 * size),
        prompt_tokens=int(9000 * size),
        cached_tokens=int(6000 * size * chance.random()),
        completion_tokens=int(1000 * size),
    )
    return make_seed(good, usage)


def test_the_intervals_hold_the_truth_about_as_often_as_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stop each pilot at its 40th pair, as a real one does; the truth is the cost of very many seeds."""
    chance = np.random.default_rng(1)
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.analysis.forecast.DRAWS", 1)  # no interval is needed
        truth = make_forecast([draw_seed(chance) for _ in range(10_000)], 100).amounts
    runs, hits = 40, dict.fromkeys(truth, 0)
    for _ in range(runs):
        seeds: list[SeedCost] = []
        while sum(cost.accepted for cost in seeds) < 40:
            seeds.append(draw_seed(chance))
        for name, estimate in make_forecast(seeds, 100).amounts.items():
            low, high = get_interval(estimate)
            hits[name] += low <= (truth[name].value or 0) <= high
    assert min(hits.values()) >= 0.85 * runs, hits
    assert min(hits.values()) < runs, "intervals that are never wrong say nothing"


def test_an_amount_without_pairs_or_prices_is_unknown() -> None:
    none = make_forecast(make_pilot(0, 5), 100)
    assert {estimate.value for estimate in none.amounts.values()} == {None}
    unpriced = Models.model_validate({"default": {**SERVED, "prices": None}})
    unpriced_forecast = make_forecast(make_pilot(3, 5), 100, unpriced)
    assert unpriced_forecast.amounts["money"].value is None
    assert "prices" in unpriced_forecast.basis["money"]
    assert unpriced_forecast.amounts["calls"].value
    assert make_forecast([], 100).amounts == {}


def test_each_call_is_paid_at_the_price_of_the_model_that_was_asked() -> None:
    roles = {"judge": {**SERVED, "model": "j", "prices": {"prompt": 10.0, "completion": 0.0}}}
    models = Models.model_validate({"default": SERVED, **roles})
    usage = Usage(calls=1, prompt_tokens=1_000_000)
    by_two_models = SeedCost(True, {"m": usage, "j": usage})
    assert make_forecast([by_two_models], 1, models).amounts["money"].value == pytest.approx(11.0)
    stranger = SeedCost(True, {"m": usage, "gone": usage})
    assert make_forecast([stranger], 1, models).amounts["money"].value is None


def test_estimated_cached_tokens_are_named() -> None:
    estimated = USAGE.model_copy(update={"estimated_cached_tokens": 6000})
    expected = forecast([make_seed(True), make_seed(False, estimated)], MODELS, 10)
    assert "estimated from shared prefixes" in expected.basis["cached prompt tokens"]
    assert (expected.amounts["computed prompt tokens"].value, expected.amounts["cached prompt tokens"].value) == (
        60_000,
        120_000,
    )
    assert expected.amounts["money"].value == pytest.approx(10 * ((3000 + 6000 * 0.25 + 3000) + (9000 + 3000)) / 1e6)
    assert "cached prompt tokens" not in make_forecast(make_pilot(1, 1), 10).basis
