"""What many pairs will take: the pilot's own figures, scaled, with an interval that says how little it knows."""

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


def seed(good: bool, usage: Usage = USAGE) -> SeedCost:
    return SeedCost(good, {"m": usage})


def told(seeds: Sequence[SeedCost], pairs: int, models: Models = MODELS) -> Forecast:
    return forecast(seeds, models, pairs)


def pilot(pairs: int, others: int) -> list[SeedCost]:
    return [seed(True)] * pairs + [seed(False)] * others


def ends(estimate: Estimate) -> tuple[float, float]:
    assert estimate.low is not None
    return estimate.low, np.inf if estimate.high is None else estimate.high


def test_the_expected_amounts_are_the_pilots_scaled() -> None:
    found = told(pilot(20, 60), 200)
    money = 800 * (3000 * 1.0 + 6000 * 0.25 + 1000 * 3.0) / 1e6
    expected = (800, 8000, 2_400_000, 4_800_000, 800_000, money)
    assert tuple(estimate.value for estimate in found.amounts.values()) == pytest.approx(expected)
    assert (found.seeds, found.accepted, found.pairs) == (80, 20, 200)
    for estimate in found.amounts.values():
        low, high = ends(estimate)
        assert low < (estimate.value or 0) < high
    assert found == told(pilot(20, 60), 200)


def test_more_seeds_make_a_narrower_interval_and_one_pair_none() -> None:
    widths = []
    for size in (4, 16, 64):
        low, high = ends(told(pilot(size, 3 * size), 100).amounts["seeds"])
        widths.append(high - low)
    assert widths == sorted(widths, reverse=True)
    assert told(pilot(1, 7), 100).amounts["seeds"].high is None


def drawn(chance: np.random.Generator) -> SeedCost:
    """A seed that is good with 0.3, and more expensive if it is; its tokens have a long tail."""
    good = bool(chance.random() < 0.3)
    size = chance.lognormal(0.0, 0.8) * (1.5 if good else 1.0)
    usage = Usage(
        calls=1 + int(10 * size),
        prompt_tokens=int(9000 * size),
        cached_tokens=int(6000 * size * chance.random()),
        completion_tokens=int(1000 * size),
    )
    return seed(good, usage)


def test_the_intervals_hold_the_truth_about_as_often_as_they_say(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each pilot stops at its 40th pair, as a real one does; the truth is what very many seeds take."""
    chance = np.random.default_rng(1)
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.analysis.forecast.DRAWS", 1)  # no interval is wanted
        truth = told([drawn(chance) for _ in range(10_000)], 100).amounts
    runs, held = 40, dict.fromkeys(truth, 0)
    for _ in range(runs):
        seeds: list[SeedCost] = []
        while sum(one.accepted for one in seeds) < 40:
            seeds.append(drawn(chance))
        for name, estimate in told(seeds, 100).amounts.items():
            low, high = ends(estimate)
            held[name] += low <= (truth[name].value or 0) <= high
    assert min(held.values()) >= 0.85 * runs, held
    assert min(held.values()) < runs, "intervals that are never wrong say nothing"


def test_nothing_accepted_or_no_price_is_told_as_unknown() -> None:
    none = told(pilot(0, 5), 100)
    assert {estimate.value for estimate in none.amounts.values()} == {None}
    unpriced = Models.model_validate({"default": {**SERVED, "prices": None}})
    found = told(pilot(3, 5), 100, unpriced)
    assert found.amounts["money"].value is None
    assert "prices" in found.basis["money"]
    assert found.amounts["calls"].value
    assert told([], 100).amounts == {}


def test_each_call_is_paid_at_the_price_of_the_model_that_was_asked() -> None:
    roles = {"judge": {**SERVED, "model": "j", "prices": {"prompt": 10.0, "completion": 0.0}}}
    models = Models.model_validate({"default": SERVED, **roles})
    asked = Usage(calls=1, prompt_tokens=1_000_000)
    both = SeedCost(True, {"m": asked, "j": asked})
    assert told([both], 1, models).amounts["money"].value == pytest.approx(11.0)
    stranger = SeedCost(True, {"m": asked, "gone": asked})
    assert told([stranger], 1, models).amounts["money"].value is None


def test_cached_tokens_that_are_estimated_are_said_to_be() -> None:
    estimated = USAGE.model_copy(update={"estimated_cached_tokens": 6000})
    expected = forecast([seed(True), seed(False, estimated)], MODELS, 10)
    assert "estimated from shared prefixes" in expected.basis["cached prompt tokens"]
    assert (expected.amounts["computed prompt tokens"].value, expected.amounts["cached prompt tokens"].value) == (
        60_000,
        120_000,
    )
    assert expected.amounts["money"].value == pytest.approx(10 * ((3000 + 6000 * 0.25 + 3000) + (9000 + 3000)) / 1e6)
    assert "cached prompt tokens" not in told(pilot(1, 1), 10).basis
