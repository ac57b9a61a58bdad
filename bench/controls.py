"""One-hop control questions, made by the same generator from a single passage: do they measure one step?

If they measured more, "three steps" would be a property of the solver. Each is measured like a pair: K rollouts, least
steps over the correct ones.
"""

import argparse
import asyncio
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from bench.common import Ground, interval, median, opened, quantile, share, table
from pipeline.agents.solver import graded_rollout
from pipeline.registry import load
from pipeline.types import Draft, Seed

MOST_SEEDS = 20
"""Seeds tried for one question wanted."""


class Measured(NamedTuple):
    seed: Seed
    draft: Draft
    difficulty: int | None
    steps: list[int]
    """Of the correct rollouts."""
    rollouts: int


async def measured(seed: Seed, ground: Ground) -> Measured | None:
    """None where the generator makes no one-hop question of this seed."""
    proposal = await load("strategies", ground.config.strategy).propose(seed, ground.context)
    draft = proposal.draft
    if draft is None or len(draft.hops) != 1:
        return None
    k = ground.config.loop.rollouts
    verdicts = [(await graded_rollout(draft, sample, ground.context))[1] for sample in range(k)]
    steps = [verdict.steps for verdict in verdicts if verdict.correct]
    return Measured(seed, draft, min(steps, default=None), steps, k)


def report(found: list[Measured], ground: Ground, seeds: int) -> bool:
    solved = [m.difficulty for m in found if m.difficulty is not None]
    steps = [step for m in found for step in m.steps]
    print(
        f"controls: corpus {ground.config.corpus.name}, {len(found)} one-hop questions from {seeds} seeds, "
        f"K {ground.config.loop.rollouts}, solver {ground.context.lineage.solver_digest[:12]} "
        "(figures of the loop, not of the data)\n"
    )
    head = ("", "n", "median", "90 % at most", "mean")
    mean = [f"{sum(v) / len(v):.2f}" if v else "-" for v in (solved, steps)]
    rows = [
        ("least steps of a solved question", len(solved), median(solved), quantile(solved, 0.9), mean[0]),
        ("steps of a correct rollout", len(steps), median(steps), quantile(steps, 0.9), mean[1]),
    ]
    print(table(head, rows))
    print("\nleast steps:", ", ".join(f"{k}: {v}" for k, v in sorted(Counter(solved).items())))
    print("solved by one of K:", share(len(solved), len(found)))
    print("solve rate:", interval(found, lambda ms: sum(len(m.steps) / m.rollouts for m in ms) / len(ms)))
    print("families:", dict(Counter(m.draft.family for m in found)))
    good = bool(solved) and median(solved) == 1 and quantile(solved, 0.9) <= 2
    print("kept (median 1, 90 % at most 2)" if good else "BROKEN: median 1, 90 % at most 2")
    return good


async def main(options: argparse.Namespace) -> bool:
    ground = opened(options.corpus, options.out, [f"seed={options.seed}", "steps=[1, 1]", *options.set])
    found: list[Measured] = []
    tried = 0
    for seed in ground.seeds(options.questions * MOST_SEEDS):
        tried += 1
        one = await measured(seed, ground)
        found += [one] if one else []
        if len(found) == options.questions:
            break
    good = report(found, ground, tried)
    for m in found[: options.show]:
        print(f"{m.difficulty or '-'} {len(m.steps)}/{m.rollouts}  {m.draft.question}  [{m.draft.answer}]")
    return good


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="wiki")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--seed", type=int, default=7042)
    parser.add_argument("--show", type=int, default=0, help="print so many of them")
    parser.add_argument("--set", action="append", default=[], help="any setting")
    parser.add_argument("--out", type=Path, default=Path("outputs"))
    sys.exit(0 if asyncio.run(main(parser.parse_args())) else 1)
