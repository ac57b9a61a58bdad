"""Forecast of the cost of a number of pairs from the seeds of a pilot, with intervals.

It is a percentile bootstrap over seeds (Efron 1979): each draw takes as many seeds as the pilot has, with replacement,
and divides their cost by the pairs that they gave. Seeds are the unit, since calls of one seed depend on each other.
The interval covers only the uncertainty of the pilot, not another corpus, model or endpoint.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from pydantic import Field

from pipeline.config.models import ModelConfig, Models
from pipeline.types import Data, Usage

DRAWS = 2000
CACHED = "cached prompt tokens"
Numbers: TypeAlias = "np.ndarray[tuple[int], np.dtype[np.float64]]"


class Estimate(Data):
    """An amount with its 95 % interval.

    `high` is None if the pilot cannot rule out any amount. All are None if nothing was accepted or a price is unknown.
    """

    value: float | None
    low: float | None
    high: float | None


class Forecast(Data):
    """The cost of `pairs`, with an empty cache of Digsite and the pilot's share of cached prompt tokens."""

    pairs: int
    seeds: int
    """Number of seeds of the pilot."""
    accepted: int
    """Number of accepted pairs of the pilot."""
    amounts: dict[str, Estimate]
    """By name, in the order of display."""
    basis: dict[str, str] = Field(default_factory=dict)
    """By amount: how to get a missing one, or how one was estimated."""


class SeedCost(NamedTuple):
    """The cost of one seed of the pilot."""

    accepted: bool
    usage: Mapping[str, Usage]
    """By model: what servers bill if Digsite's cache is empty."""


def forecast(seeds: Sequence[SeedCost], models: Models, pairs: int) -> Forecast:
    if not seeds:
        return Forecast(pairs=pairs, seeds=0, accepted=0, amounts={})
    accepted = np.array([seed.accepted for seed in seeds], dtype=float)
    costs = {name: np.array(amounts, dtype=float) for name, amounts in _list_amounts(seeds, models).items()}
    basis = {"money": "set models.<role>.prices"} if np.isnan(costs["money"]).any() else {}
    if any(usage.estimated_cached_tokens for seed in seeds for usage in seed.usage.values()):
        basis[CACHED] = "estimated from shared prefixes, since a server reports no cached tokens; billed in full"
    count = len(seeds)
    draws = np.random.default_rng(0).multinomial(count, np.full(count, 1 / count), size=DRAWS)
    return Forecast(
        pairs=pairs,
        seeds=count,
        accepted=int(accepted.sum()),
        amounts={name: _estimate(cost, accepted, draws, pairs) for name, cost in costs.items()},
        basis=basis,
    )


def _list_amounts(seeds: Sequence[SeedCost], models: Models) -> dict[str, Sequence[float]]:
    by_name = {model.model: model for model in models.all()}
    totals = [Usage.total(seed.usage.values()) for seed in seeds]
    return {
        "seeds": [1 for _ in seeds],
        "calls": [usage.calls for usage in totals],
        "computed prompt tokens": [usage.computed_tokens for usage in totals],
        CACHED: [usage.cached_tokens for usage in totals],
        "completion tokens": [usage.completion_tokens for usage in totals],
        "money": [_money(seed.usage, by_name) for seed in seeds],
    }


def _money(usage: Mapping[str, Usage], models: Mapping[str, ModelConfig]) -> float:
    costs = [models[model].cost(used) if model in models else None for model, used in usage.items() if used.calls]
    return sum(np.nan if cost is None else cost for cost in costs)


def _estimate(costs: Numbers, accepted: Numbers, draws: Any, pairs: int) -> Estimate:
    """Estimate the cost of `pairs`, from `costs` and `accepted` (0 or 1) of each seed and how often `draws` took it."""
    if not accepted.any() or np.isnan(costs).any():
        return Estimate(value=None, low=None, high=None)
    with np.errstate(divide="ignore", invalid="ignore"):
        totals = np.nan_to_num(pairs * (draws @ costs) / (draws @ accepted), nan=np.inf, posinf=np.inf)
    low, high = (float(np.quantile(totals, q, method="inverted_cdf")) for q in (0.025, 0.975))
    return Estimate(
        value=pairs * float(costs.sum() / accepted.sum()), low=low, high=high if np.isfinite(high) else None
    )
