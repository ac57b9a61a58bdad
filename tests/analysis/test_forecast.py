"""What many pairs will take: the pilot's own figures, scaled, with an interval that says how little it knows."""

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any

import numpy as np
import pytest

from pipeline.analysis.forecast import DAYS, GPU_HOURS, Estimate, Forecast, PilotCosts, SeedCost, forecast
from pipeline.config.roles import Models
from pipeline.llm.throughput import Throughput
from pipeline.types import Usage

PRICES = {"prompt": 1.0, "completion": 3.0, "cached": 0.25}
SERVED: dict[str, Any] = {"provider": "openai", "model": "m", "base_url": "http://a:1/v1", "prices": PRICES, "gpus": 2}
MODELS = Models.model_validate({"default": SERVED})
USAGE = Usage(calls=10, prompt_tokens=9000, cached_tokens=6000, completion_tokens=1000, reasoning_tokens=800)
SPEED = Throughput(
    model="m", base_urls=("http://a:1/v1",), concurrency=32, prompt=5000, completion=500, measured="2026-01-02"
)


def seed(good: bool, usage: Usage = USAGE, seconds: float | None = 30.0) -> SeedCost:
    return SeedCost(good, {"m": usage}, seconds)


def told(
    seeds: Sequence[SeedCost], pairs: int, models: Models = MODELS, speeds: Mapping[str, Throughput] | None = None
) -> Forecast:
    return forecast(PilotCosts(seeds, 8.0), models, speeds or {}, pairs)


def pilot(pairs: int, others: int, **more: Any) -> list[SeedCost]:
    return [seed(True, **more)] * pairs + [seed(False, **more)] * others


def ends(estimate: Estimate) -> tuple[float, float]:
    assert estimate.low is not None
    return estimate.low, np.inf if estimate.high is None else estimate.high


def test_the_expected_amounts_are_the_pilots_scaled() -> None:
    found = told(pilot(20, 60), 200)
    money = 800 * (3000 * 1.0 + 6000 * 0.25 + 1000 * 3.0) / 1e6
    expected = (800, 8000, 2_400_000, 4_800_000, 800_000, money, 800 * 30 * 2 / 3600, 800 * 30 / 86_400)
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
    return seed(good, usage, 20.0 * size)


@pytest.mark.parametrize("speeds", [{}, {"m": SPEED}])
def test_the_intervals_hold_the_truth_about_as_often_as_they_say(
    speeds: dict[str, Throughput], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each pilot stops at its 40th pair, as a real one does; the truth is what very many seeds take."""
    chance = np.random.default_rng(1)
    with monkeypatch.context() as patch:
        patch.setattr("pipeline.analysis.forecast.DRAWS", 1)  # no interval is wanted
        truth = told([drawn(chance) for _ in range(10_000)], 100, speeds=speeds).amounts
    runs, held = 40, dict.fromkeys(truth, 0)
    for _ in range(runs):
        seeds: list[SeedCost] = []
        while sum(one.accepted for one in seeds) < 40:
            seeds.append(drawn(chance))
        for name, estimate in told(seeds, 100, speeds=speeds).amounts.items():
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
    both = SeedCost(True, {"m": asked, "j": asked}, 1.0)
    assert told([both], 1, models).amounts["money"].value == pytest.approx(11.0)
    stranger = SeedCost(True, {"m": asked, "gone": asked}, 1.0)
    assert told([stranger], 1, models).amounts["money"].value is None


def test_gpu_hours_come_from_what_doctor_measured_else_from_the_clock_else_from_nowhere() -> None:
    seeds = pilot(10, 10)
    measured = told(seeds, 100, speeds={"m": SPEED})
    assert measured.amounts[GPU_HOURS].value == pytest.approx(200 * (3000 / 5000 + 1000 / 500) * 2 / 3600)
    assert measured.amounts[DAYS].value == pytest.approx(200 * 30 / 86_400)
    assert "doctor measured (m on 2026-01-02, 32 calls at once)" in measured.basis[GPU_HOURS]
    assert measured.basis[DAYS] == "the pilot's own seeds an hour, 8.0 at work at once"
    clock = told(seeds, 100)
    assert clock.amounts[GPU_HOURS].value == pytest.approx(200 * 30 * 2 / 3600)
    assert "2 GPUs for as long as the pilot's seeds took" in clock.basis[GPU_HOURS]
    replayed = told(pilot(10, 10, seconds=None), 100)
    assert (replayed.amounts[GPU_HOURS].value, replayed.amounts[DAYS].value) == (None, None)
    assert "digsite doctor --measure" in replayed.basis[GPU_HOURS]
    assert "digsite doctor --measure" in replayed.basis[DAYS]
    rates = told(pilot(10, 10, seconds=None), 100, speeds={"m": SPEED})
    assert rates.amounts[DAYS].value == pytest.approx(200 * (3000 / 5000 + 1000 / 500) / 86_400)
    assert "m at its full speed" in rates.basis[DAYS]


def test_a_measure_counts_for_the_servers_that_it_was_made_with_and_for_all_models_or_none() -> None:
    moved = SPEED.model_copy(update={"base_urls": ("http://other:1/v1",)})
    assert "doctor measured" not in told(pilot(2, 2), 10, speeds={"m": moved}).basis[GPU_HOURS]
    judge = {**SERVED, "model": "j", "base_url": "http://j:1/v1", "gpus": 4}
    models = Models.model_validate({"default": SERVED, "judge": judge})
    seeds = [SeedCost(True, {"m": USAGE, "j": USAGE}, 30.0)] * 4
    assert "6 GPUs for as long" in told(seeds, 10, models, {"m": SPEED}).basis[GPU_HOURS]
    fast = SPEED.model_copy(update={"model": "j", "base_urls": ("http://j:1/v1",), "prompt": 1e9, "completion": 1000})
    whole = told(seeds, 10, models, {"m": SPEED, "j": fast})
    assert whole.amounts[GPU_HOURS].value == pytest.approx(10 * (2 * 2.6 + 4 * 1.0) / 3600, rel=1e-4)
    unused = [SeedCost(True, {"m": USAGE}, 30.0)] * 4
    assert "doctor measured" in told(unused, 10, models, {"m": SPEED}).basis[GPU_HOURS], "nobody asked the judge"


def test_models_without_gpus_take_no_gpu_hours() -> None:
    found = told([SeedCost(True, {"embedded": USAGE}, next(count(1)))] * 3, 10, Models())
    assert found.amounts[GPU_HOURS].value is None
    assert found.basis[GPU_HOURS] == "no configured server has GPUs of its own"
    assert found.amounts[DAYS].value
