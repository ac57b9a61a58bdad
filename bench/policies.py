"""Is a solve rate a target that the loop meets? The demo model in two strengths stands in for two models to be trained.

Three arms on the same seeds: a target of steps, a band of solve rates for the weaker model, and both. In every arm the
weaker model is measured on each accepted pair, as it is wherever it is named. Whether a pair lies in the band is then
told by tries that nothing was chosen by. A call is any completion of any role, rejected seeds included; intervals are
bootstrapped over seeds.
"""

import argparse
import asyncio
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench.common import Interval, Remembered, interval, opened, share, table
from pipeline.agents.solver import graded_rollout
from pipeline.config.models import ModelConfig
from pipeline.context import RunContext
from pipeline.loop import episode
from pipeline.types import Band, Record, Seed, Status

BAND = "0.2-0.8"
STRONG, WEAK = "embedded", "embedded-weak"
ARMS = {
    "steps": [],
    "band": [f"solve_rate={BAND}"],
    "band and steps": [f"solve_rate={BAND}", "steps=2-4"],
}
FRESH = 2000
"""Sample of the first try: no record has it."""
LEAST_HELD, MOST_CALLS = 0.6, 1.5


class Ended(NamedTuple):
    """How one seed ended in one arm."""

    record: Record
    calls: int
    measuring: int
    """Those that measured the weaker model, once a pair was a candidate."""
    weak: tuple[bool, ...] = ()
    """Of an accepted pair the fresh tries that were correct."""
    strong: tuple[bool, ...] = ()

    @property
    def accepted(self) -> bool:
        return self.record.status is Status.ACCEPTED


async def run(seed: Seed, context: RunContext, tries: int) -> Ended:
    record = await episode.run_seed(seed, context)
    calls = sum(usage.calls for usage in record.usage.values())
    measuring = sum(u.calls for one in record.measurements for used in one.usages.values() for u in used)
    if record.status is not Status.ACCEPTED or record.draft is None:
        return Ended(record, calls, measuring)

    async def correct(model: str) -> tuple[bool, ...]:
        assert record.draft
        asked = ModelConfig(model=model)
        starts = [graded_rollout(record.draft, FRESH + n, context, asked) for n in range(tries)]
        return tuple(verdict.correct for _, verdict in await asyncio.gather(*starts))

    return Ended(record, calls, measuring, await correct(WEAK), await correct(STRONG))


def accepted(ended: Sequence[Ended]) -> list[Ended]:
    return [one for one in ended if one.accepted]


def calls_per_pair(ended: Sequence[Ended]) -> float:
    pairs = accepted(ended)
    return sum(one.calls for one in ended) / len(pairs) if pairs else math.nan


def calls_unmeasured(ended: Sequence[Ended]) -> float:
    """Without what measuring the weaker model took."""
    pairs = accepted(ended)
    return sum(one.calls - one.measuring for one in ended) / len(pairs) if pairs else math.nan


def mean_rate(pairs: Sequence[Ended], model: str) -> float:
    rates = [sum(getattr(one, model)) / len(getattr(one, model)) for one in pairs]
    return sum(rates) / len(rates) if rates else math.nan


def held(pairs: Sequence[Ended], band: Band) -> float:
    """Share of the pairs whose first fresh tries, as many as the loop took to measure them, lie in the band."""
    return sum(sum(one.weak[: band.tries]) in band.counts for one in pairs) / len(pairs) if pairs else math.nan


def ratio(ours: list[Ended], theirs: list[Ended], below: Callable[[Sequence[Ended]], float]) -> Interval:
    """Calls per pair of one arm over those of the other, both resampled seed by seed."""

    def of(both: Sequence[tuple[Ended, Ended]]) -> float:
        least = below([pair[1] for pair in both])
        return calls_per_pair([pair[0] for pair in both]) / least if least else math.nan

    return interval(list(zip(ours, theirs, strict=True)), of)


def spread(pairs: Sequence[Ended], model: str, tries: int) -> list[int]:
    """How many pairs had each number of correct fresh tries."""
    found = Counter(sum(getattr(one, model)) for one in pairs)
    return [found[count] for count in range(tries + 1)]


def report(ended: dict[str, list[Ended]], band: Band, tries: int, heading: str) -> bool:
    print(heading, "\n")
    rows = []
    for arm, of in ended.items():
        pairs = accepted(of)
        for model in ("strong", "weak"):
            mean = interval(pairs, partial(mean_rate, model=model))
            rows.append((arm, model, len(pairs), *spread(pairs, model, tries), mean))
    print("pairs by the number of correct fresh tries, and the mean solve rate:")
    print(table(("arm", "model", "pairs", *map(str, range(tries + 1)), "mean"), rows), "\n")
    rows = []
    for arm, of in ended.items():
        pairs = accepted(of)
        inside = interval(pairs, partial(held, band=band))
        reasons = Counter(one.record.reason for one in of if not one.accepted)
        why = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common(4))
        rows.append((arm, share(len(pairs), len(of)), inside, interval(of, calls_per_pair), why))
    print(table(("arm", "accepted", "in the band", "calls per pair", "commonest reasons"), rows), "\n")
    steps = accepted(ended["steps"])
    apart = interval(steps, lambda p: mean_rate(p, "strong") - mean_rate(p, "weak"))
    inside = interval(accepted(ended["band"]), partial(held, band=band))
    cost = ratio(ended["band"], ended["steps"], calls_per_pair)
    bare = ratio(ended["band"], ended["steps"], calls_unmeasured)
    print(f"strong - weak on the pairs of the steps arm: {apart} (above 0)")
    print(f"pairs of the band arm that lie in it on {band.tries} fresh tries: {inside} (at least {LEAST_HELD})")
    print(f"calls per pair, band / steps: {cost} (at most {MOST_CALLS}); over steps that measure no policy: {bare}")
    good = apart.low > 0 and inside.value >= LEAST_HELD and cost.value <= MOST_CALLS
    print("kept" if good else "BROKEN")
    return good


async def main(options: argparse.Namespace) -> bool:
    sets = [f"seed={options.seed}", f"models.policies.weak.model={WEAK}", "policy=weak", "loop.control_share=0"]
    ended: dict[str, list[Ended]] = {}
    shared, heading, band = None, "", None
    for arm, more in ARMS.items():
        ground = opened(options.corpus, options.out, [*sets, *options.set, *more])
        shared = shared or Remembered(ground.context.llm)
        context, began = replace(ground.context, llm=shared), time.monotonic()
        ended[arm] = [await run(seed, context, options.tries) for seed in ground.seeds(options.seeds)]
        print(f"{arm}: {time.monotonic() - began:.0f} s", file=sys.stderr)
        band, config = ground.config.band or band, ground.config
        heading = (
            f"policies: corpus {config.corpus.name}, {options.seeds} seeds of --seed {config.seed}, "
            f"steps {config.steps}, "
            f"band {BAND} over K {config.loop.rollouts}, {options.tries} fresh tries, "
            f"solver {context.lineage.solver_digest[:12]} (figures of the loop, not of the data)"
        )
    assert band
    return report(ended, band, options.tries, heading)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="wiki")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=7041)
    parser.add_argument("--tries", type=int, default=8, help="fresh ones of each model on each pair")
    parser.add_argument("--set", action="append", default=[], help="any setting, for all arms")
    parser.add_argument("--out", type=Path, default=Path("outputs"))
    sys.exit(0 if asyncio.run(main(parser.parse_args())) else 1)
