"""What so many pairs will take, from the seeds of a pilot, each amount with an interval.

Percentile bootstrap over seeds (Efron 1979): a draw takes as many seeds as there are, with replacement, and divides
what they took by the pairs they gave. Seeds are the unit, since the calls of one seed hang together. The interval is of
the pilot's own uncertainty; another corpus, model or endpoint is outside it.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from pydantic import Field

from pipeline.config.models import ModelConfig
from pipeline.config.roles import Models
from pipeline.types import Data, Usage

DRAWS = 2000
CACHED = "cached prompt tokens"
Numbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float64]]"


class Estimate(Data):
    """With a 95 % interval; `high` is None where the pilot cannot rule out any amount, all where nothing was accepted
    or the amount is not known."""

    value: float | None
    low: float | None
    high: float | None


class Forecast(Data):
    """For so many pairs, as if Digsite's cache held nothing yet. The cached share of the prompt tokens is that of the
    pilot."""

    pairs: int
    seeds: int
    """Of the pilot, as the accepted."""
    accepted: int
    amounts: dict[str, Estimate]
    """By name, in the order in which they are shown."""
    basis: dict[str, str] = Field(default_factory=dict)
    """By amount: how to get one that is missing, or how one was estimated."""


class SeedCost(NamedTuple):
    """What one seed of the pilot took, accepted or not."""

    accepted: bool
    usage: Mapping[str, Usage]
    """By model: what servers bill with an empty cache of Digsite's."""


def forecast(seeds: Sequence[SeedCost], models: Models, pairs: int) -> Forecast:
    """Forecast from all seeds of a plan, accepted or not."""
    if not seeds:
        return Forecast(pairs=pairs, seeds=0, accepted=0, amounts={})
    good = np.array([seed.accepted for seed in seeds], dtype=float)
    took = {name: np.array(amounts, dtype=float) for name, amounts in _amounts(seeds, models).items()}
    basis = {"money": "set models.<role>.prices"} if np.isnan(took["money"]).any() else {}
    if any(usage.estimated_cached_tokens for seed in seeds for usage in seed.usage.values()):
        basis[CACHED] = "estimated from shared prefixes, since a server reports no cached tokens; billed in full"
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
        "computed prompt tokens": [usage.computed_tokens for usage in whole],
        CACHED: [usage.cached_tokens for usage in whole],
        "completion tokens": [usage.completion_tokens for usage in whole],
        "money": [_money(seed.usage, named) for seed in seeds],
    }


def _money(usage: Mapping[str, Usage], named: Mapping[str, ModelConfig]) -> float:
    """Not a number where a price is not known."""
    costs = [named[model].cost(used) if model in named else None for model, used in usage.items() if used.calls]
    return sum(np.nan if cost is None else cost for cost in costs)


def _estimate(took: Numbers, good: Numbers, times: Any, pairs: int) -> Estimate:
    """`took` and `good` (0 or 1) by seed; `times` says how often each draw took which."""
    if not good.any() or np.isnan(took).any():
        return Estimate(value=None, low=None, high=None)
    with np.errstate(divide="ignore", invalid="ignore"):
        draws = np.nan_to_num(pairs * (times @ took) / (times @ good), nan=np.inf, posinf=np.inf)
    low, high = (float(np.quantile(draws, q, method="inverted_cdf")) for q in (0.025, 0.975))
    return Estimate(value=pairs * float(took.sum() / good.sum()), low=low, high=high if np.isfinite(high) else None)
