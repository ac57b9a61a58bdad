"""Is a solve rate a target that the loop meets? The demo model in two strengths stands in for two models to be trained.

Two arms on the same seeds: a target of steps, and a band of solve rates for the weaker model, which in both is measured
on each accepted pair, as it is wherever it is named. Whether a pair lies in the band is then told by tries that nothing
was chosen by. A call is any completion of any role, rejected seeds included; intervals are bootstrapped over seeds.
"""

import argparse
import asyncio
import math
import sys
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench.common import Interval, Remembered, interval, opened, share
from pipeline.agents.solver import graded_rollout
from pipeline.config.models import ModelConfig
from pipeline.context import RunContext
from pipeline.loop import episode
from pipeline.types import Band, Record, Seed, Status

BAND = "0.2-0.8"
STRONG, WEAK = "embedded", "embedded-weak"
FRESH = 2000
"""Sample of the first fresh try: no record has it."""
TRIES = 8
LEAST_HELD, MOST_CALLS = 0.6, 1.5


class Ended(NamedTuple):
    """How one seed ended in one arm; of an accepted pair the fresh tries of both that were correct."""

    record: Record
    calls: int
    weak: tuple[bool, ...] = ()
    strong: tuple[bool, ...] = ()


async def run(seed: Seed, context: RunContext) -> Ended:
    record = await episode.run_seed(seed, context)
    calls, draft = sum(usage.calls for usage in record.usage.values()), record.draft
    if record.status is not Status.ACCEPTED or draft is None:
        return Ended(record, calls)

    async def correct(model: str) -> tuple[bool, ...]:
        starts = [graded_rollout(draft, FRESH + n, context, ModelConfig(model=model)) for n in range(TRIES)]
        return tuple(verdict.correct for _, verdict in await asyncio.gather(*starts))

    return Ended(record, calls, await correct(WEAK), await correct(STRONG))


def accepted(ended: Sequence[Ended]) -> list[Ended]:
    return [one for one in ended if one.record.status is Status.ACCEPTED]


def calls_per_pair(ended: Sequence[Ended]) -> float:
    pairs = accepted(ended)
    return sum(one.calls for one in ended) / len(pairs) if pairs else math.nan


def mean_rate(pairs: Sequence[Ended], model: str) -> float:
    rates = [sum(getattr(one, model)) / len(getattr(one, model)) for one in pairs]
    return sum(rates) / len(rates) if rates else math.nan


def held(pairs: Sequence[Ended], band: Band) -> float:
    """Share of the pairs whose first fresh tries, as many as the loop took to measure them, lie in the band."""
    return sum(sum(one.weak[: band.tries]) in band.counts for one in pairs) / len(pairs) if pairs else math.nan


def ratio(ours: list[Ended], theirs: list[Ended]) -> Interval:
    """Calls per pair of one arm over those of the other, both resampled seed by seed."""

    def of(both: Sequence[tuple[Ended, Ended]]) -> float:
        below = calls_per_pair([pair[1] for pair in both])
        return calls_per_pair([pair[0] for pair in both]) / below if below else math.nan

    return interval(list(zip(ours, theirs, strict=True)), of)


async def main(options: argparse.Namespace) -> bool:
    sets = [f"seed={options.seed}", f"models.policies.weak.model={WEAK}", "policy=weak", "loop.control_share=0"]
    grounds = [opened(options.corpus, options.out, [*sets, *more]) for more in ([], [f"solve_rate={BAND}"])]
    shared, arms = Remembered(grounds[0].context.llm), list[list[Ended]]()
    for ground in grounds:
        context = replace(ground.context, llm=shared)
        arms.append([await run(seed, context) for seed in ground.seeds(options.seeds)])
    steps, inside, band = accepted(arms[0]), accepted(arms[1]), grounds[1].config.band
    assert band
    kept, cost = interval(inside, partial(held, band=band)), ratio(arms[1], arms[0])
    rates = [interval(steps, partial(mean_rate, model=model)) for model in ("strong", "weak")]
    apart = interval(steps, lambda pairs: mean_rate(pairs, "strong") - mean_rate(pairs, "weak"))
    print(f"policies: corpus {options.corpus}, {options.seeds} seeds of --seed {options.seed}, band {BAND}")
    print(f"accepted: steps {share(len(steps), options.seeds)}, band {share(len(inside), options.seeds)}")
    print(f"pairs of the steps arm, {TRIES} fresh tries: strong {rates[0]}, weak {rates[1]}, apart {apart} (above 0)")
    print(f"pairs of the band arm that lie in it on {band.tries} fresh tries: {kept} (at least {LEAST_HELD})")
    print(f"calls per pair, band / steps: {cost} (at most {MOST_CALLS})")
    good = apart.low > 0 and kept.value >= LEAST_HELD and cost.value <= MOST_CALLS
    print("kept" if good else "BROKEN")
    return good


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="wiki")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=7041)
    parser.add_argument("--out", type=Path, default=Path("outputs"))
    sys.exit(0 if asyncio.run(main(parser.parse_args())) else 1)
