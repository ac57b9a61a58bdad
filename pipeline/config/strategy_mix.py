"""Which strategy makes the drafts of a seed: one for all seeds, or several by weight, `compose:2,sage:1`."""

import re
from typing import Annotated

from pydantic import AfterValidator

from pipeline.types import sha256

LINKED = ("compose",)
"""Strategies that are shown the links of the corpus and have prompts of their own."""


def strategy_weights(strategies: str) -> dict[str, int]:
    """The weight of each strategy, by name in their order. Raises ValueError."""
    found: dict[str, int] = {}
    for part in sorted(one.strip() for one in strategies.split(",")):
        named = re.fullmatch(r"([^:,]+)(?::([1-9]\d{0,3}))?", part)
        if not named or named[1] in found:
            raise ValueError(f"takes NAME, or NAME:WEIGHT of several, such as compose:2,sage:1, not '{strategies}'")
        found[named[1]] = int(named[2] or 1)
    return found


def _one_way(strategies: str) -> str:
    """In the one way in which a mix is written: another order is the same run."""
    found = strategy_weights(strategies)
    return ",".join(f"{name}:{weight}" for name, weight in found.items()) if len(found) > 1 else next(iter(found))


StrategyMix = Annotated[str, AfterValidator(_one_way)]


def draw(strategies: str, key: str) -> str:
    """The strategy of the seed of that key. It is drawn by hash, whatever the order in which seeds are run."""
    found = strategy_weights(strategies)
    place = int(sha256(f"strategy:{key}")[:8], 16) * sum(found.values()) >> 32
    return [name for name, weight in found.items() for _ in range(weight)][place]
