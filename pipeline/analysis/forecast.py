"""What so many pairs will take, from the seeds of a pilot, each amount with an interval.

Percentile bootstrap over seeds (Efron 1979): a draw takes as many seeds as there are, with replacement, and divides
what they took by the pairs they gave. Seeds are the unit, since the calls of one seed hang together. The interval is of
the pilot's own uncertainty; another corpus, model or endpoint is outside it, and so is how steady a server's speed is.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from pydantic import Field

from pipeline.config.models import ModelConfig
from pipeline.config.roles import Models
from pipeline.llm.throughput import Throughput
from pipeline.types import Data, Usage

DRAWS = 2000
GPU_HOURS, DAYS = "GPU-hours", "days"
_HOUR, _DAY = 3600.0, 86_400.0
_MEASURE = "'digsite doctor --measure' with these models measures it"
Numbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float64]]"


class Estimate(Data):
    """With a 95 % interval; `high` is None where the pilot cannot rule out any amount, all where nothing was accepted
    or the amount is not known."""

    value: float | None
    low: float | None
    high: float | None


class Forecast(Data):
    """For so many pairs, as if Digsite's cache held nothing yet. What a server has in its prefix cache is as in the
    pilot."""

    pairs: int
    seeds: int
    """Of the pilot, as the accepted."""
    accepted: int
    amounts: dict[str, Estimate]
    """By name, in the order in which they are shown."""
    basis: dict[str, str] = Field(default_factory=dict)
    """What GPU-hours and days rest on, or how to get what is missing."""


class SeedCost(NamedTuple):
    """What one seed of the pilot took, accepted or not."""

    accepted: bool
    usage: Mapping[str, Usage]
    """By model: what servers bill with an empty cache of Digsite's."""
    seconds: float | None
    """Its part of the pilot's wall-clock time; None where that is not known."""


class PilotCosts(NamedTuple):
    seeds: Sequence[SeedCost]
    at_work: float
    """Seeds at work at once, on average."""


def forecast(pilot: PilotCosts, models: Models, speeds: Mapping[str, Throughput], pairs: int) -> Forecast:
    """From all seeds of a plan, accepted or not, and the speeds that were measured, by model."""
    if not (seeds := pilot.seeds):
        return Forecast(pairs=pairs, seeds=0, accepted=0, amounts={})
    good = np.array([seed.accepted for seed in seeds], dtype=float)
    took = {name: np.array(amounts, dtype=float) for name, amounts in _amounts(seeds, models).items()}
    basis = {}
    # Not a number where that is not known.
    seconds, busy = np.array([seed.seconds for seed in seeds], dtype=float), _busy(seeds, models, speeds)
    each = [f"{name} on {speeds[name].measured}, {speeds[name].concurrency} calls at once" for name in busy]
    measured = f"tokens a second that doctor measured ({'; '.join(each)})"
    took[GPU_HOURS], basis[GPU_HOURS] = _gpu_hours(pilot, models, seconds, busy, measured)
    took[DAYS], basis[DAYS] = _days(pilot, seconds, busy, measured)
    if np.isnan(took["money"]).any():
        basis["money"] = "set models.<role>.prices"
    count = len(seeds)
    times = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), size=DRAWS)
    return Forecast(
        pairs=pairs,
        seeds=count,
        accepted=int(good.sum()),
        amounts={name: _estimate(each, good, times, pairs) for name, each in took.items()},
        basis=basis,
    )


def _amounts(seeds: Sequence[SeedCost], models: Models) -> dict[str, Sequence[float]]:
    named = {one.model: one for one in models.all()}
    whole = [Usage.total(seed.usage.values()) for seed in seeds]
    return {
        "seeds": [1 for _ in seeds],
        "calls": [usage.calls for usage in whole],
        "uncached prompt tokens": [usage.prompt_tokens - usage.cached_tokens for usage in whole],
        "prompt tokens in prefix cache": [usage.cached_tokens for usage in whole],
        "completion tokens": [usage.completion_tokens for usage in whole],
        "money": [_money(seed.usage, named) for seed in seeds],
    }


def _money(usage: Mapping[str, Usage], named: Mapping[str, ModelConfig]) -> float:
    """Not a number where a price is not known."""
    costs = [named[model].cost(used) if model in named else None for model, used in usage.items() if used.calls]
    return sum(np.nan if cost is None else cost for cost in costs)


def _gpu_hours(
    pilot: PilotCosts, models: Models, seconds: Numbers, busy: Mapping[str, Numbers], measured: str
) -> tuple[Numbers, str]:
    """By seed, and what they rest on."""
    gpus = {one.model: one.all_gpus for one in models.all()}
    count = sum(gpus.values())
    if not count:
        return np.full(len(seconds), np.nan), "no configured server has GPUs of its own"
    if busy:
        return np.sum([took * gpus.get(model, 0) for model, took in busy.items()], axis=0) / _HOUR, measured
    whose = "1 GPU" if count == 1 else f"{count} GPUs"
    basis = f"{whose} for as long as the pilot's seeds took, {pilot.at_work:.1f} at work at once; {_MEASURE} better"
    return seconds * count / _HOUR, _MEASURE if np.isnan(seconds).any() else basis


def _days(pilot: PilotCosts, seconds: Numbers, busy: Mapping[str, Numbers], measured: str) -> tuple[Numbers, str]:
    """By seed, and what they rest on."""
    if not np.isnan(seconds).any():
        return seconds / _DAY, f"the pilot's own seeds an hour, {pilot.at_work:.1f} at work at once"
    if busy:
        slowest = max(busy, key=lambda model: float(busy[model].sum()))
        return busy[slowest] / _DAY, f"{slowest} at its full speed: {measured}"
    return seconds, f"most answers of the pilot came from Digsite's cache; {_MEASURE}"


def _busy(seeds: Sequence[SeedCost], models: Models, speeds: Mapping[str, Throughput]) -> dict[str, Numbers]:
    """The seconds of each model's servers, by seed; empty where one that was asked has not been measured as it is."""
    busy: dict[str, Numbers] = {}
    for model in {one.model: one for one in models.all() if one.provider == "openai"}.values():
        used = [seed.usage.get(model.model, Usage()) for seed in seeds]
        if not any(usage.calls for usage in used):
            continue
        speed = speeds.get(model.model)
        if speed is None or set(speed.base_urls) != set(model.base_urls):
            return {}
        prompt = np.array([usage.prompt_tokens - usage.cached_tokens for usage in used])
        completion = np.array([usage.completion_tokens for usage in used])
        busy[model.model] = prompt / speed.prompt + completion / speed.completion
    return busy


def _estimate(took: Numbers, good: Numbers, times: Any, pairs: int) -> Estimate:
    """`took` and `good` (0 or 1) by seed; `times` says how often each draw took which."""
    if not good.any() or np.isnan(took).any():
        return Estimate(value=None, low=None, high=None)
    with np.errstate(divide="ignore", invalid="ignore"):
        draws = np.nan_to_num(pairs * (times @ took) / (times @ good), nan=np.inf, posinf=np.inf)
    low, high = (float(np.quantile(draws, q, method="inverted_cdf")) for q in (0.025, 0.975))
    return Estimate(value=pairs * float(took.sum() / good.sum()), low=low, high=high if np.isfinite(high) else None)
