"""The strategy of each seed: the same for all, or drawn from several by weight, such as `compose:2,sage:1`."""

import re
from typing import Annotated

from pydantic import AfterValidator

from pipeline.types import sha256

LINKED = ("compose",)
"""Strategies that use the links of the corpus and have their own prompts."""


def strategy_weights(strategies: str) -> dict[str, int]:
    """Return the weights by name, sorted. Raise ValueError for an invalid text."""
    weights: dict[str, int] = {}
    for part in sorted(text.strip() for text in strategies.split(",")):
        match = re.fullmatch(r"([^:,]+)(?::([1-9]\d{0,3}))?", part)
        if not match or match[1] in weights:
            raise ValueError(f"takes NAME, or several NAME:WEIGHT, such as compose:2,sage:1, not '{strategies}'")
        weights[match[1]] = int(match[2] or 1)
    return weights


def _normalise(strategies: str) -> str:
    """Sort the strategies, so that their order does not change the run."""
    weights = strategy_weights(strategies)
    return ",".join(f"{name}:{weight}" for name, weight in weights.items()) if len(weights) > 1 else next(iter(weights))


StrategyMix = Annotated[str, AfterValidator(_normalise)]


def draw(strategies: str, key: str) -> str:
    """Return the strategy of the seed with this key. A hash decides, so the order of seeds does not matter."""
    weights = strategy_weights(strategies)
    index = int(sha256(f"strategy:{key}")[:8], 16) * sum(weights.values()) >> 32
    return [name for name, weight in weights.items() for _ in range(weight)][index]
