"""The paper's loop against ours on the same seeds, K, R, k and limits, one added stage at a time.

SAGE took R = 2; that arm stands apart. The others have the R of the default preset.

A pair counts, in every arm, when it is still at its target on K fresh rollouts by the same solver. The arms without a
confirmation stage get those rollouts for nothing, and what the sage arm accepts below its target in its relaxed last
round is reported apart. A call is any completion of any role; intervals are bootstrapped over seeds.
"""

import argparse
import asyncio
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from bench.common import Ground, Interval, Remembered, interval, opened, table
from pipeline.config.loop import LoopConfig
from pipeline.config.presets import PRESETS
from pipeline.context import RunContext
from pipeline.loop import assess, episode
from pipeline.loop.audit import audit
from pipeline.types import Label, Record, Seed, Status

STAGES: dict[str, dict[str, Any]] = {
    "sage, the paper's R": {},
    "sage": {"loop": {"rounds": LoopConfig().rounds}},
    "+ audit": {"loop": {"audit": True}},
    "+ oracle reader": {"checks": {"run": None}},
    "+ early stop": {"loop": {"early_stop": True}},
    "+ searching refiner": {"loop": {"refiner_searches": True, "feedback_rollouts": "all"}},
    "default": {"loop": {"confirm": True, "last_round_relaxed": False}},
}
KINDS = ("accepted", "held", "sound", "relaxed")
MOST_CALLS = 0.5
"""Calls per accepted pair, as a share of the sage arm's."""


class Ended(NamedTuple):
    """How one seed ended in one arm."""

    held: bool
    """Accepted, and still at its target on fresh rollouts."""
    accepted: bool
    relaxed: bool
    sound: bool
    """Held, and the audit finds as many needed hops as the target has steps: no detours of a weak solver."""
    spent: dict[str, int]
    """Calls by role."""
    fresh: int
    """Calls of the fresh rollouts that told whether it holds, where the arm has no such stage."""

    @property
    def calls(self) -> int:
        return sum(self.spent.values())


def arms(ground: Ground) -> dict[str, RunContext]:
    """Each arm has the stages of the one above it, and one more."""
    stages = {part: dict(PRESETS["sage"][part]) for part in ("loop", "checks")}
    context = replace(ground.context, llm=Remembered(ground.context.llm))
    sites = {}
    for name, added in STAGES.items():
        parts = {}
        for part, stage in stages.items():
            stage.update(added.get(part, {}))
            parts[part] = getattr(ground.config, part).model_copy(update=stage)
        sites[name] = replace(context, config=ground.config.model_copy(update=parts))
    last = sites["default"].config
    assert (last.loop, last.checks) == (ground.config.loop, ground.config.checks), "the last arm is the default preset"
    return sites


async def run(seed: Seed, context: RunContext) -> Ended:
    record = await episode.run_seed(seed, context)
    spent = {role: usage.calls for role, usage in record.usage.items()}
    relaxed = record.reason == "relaxed"
    accepted = record.status is Status.ACCEPTED and not relaxed
    held, fresh = accepted, 0
    if accepted and not context.config.loop.confirm:
        held, fresh = await holds(record, context)
    return Ended(held, accepted, relaxed, held and await sound(record, context), spent, fresh)


async def sound(record: Record, context: RunContext) -> bool:
    assert record.draft is not None
    found = await audit(record.draft, record.seed.target_steps, context.retriever, context.config.retrieval.k)
    return not any(finding.fatal for finding in found)


async def holds(record: Record, context: RunContext) -> tuple[bool, int]:
    """Do K fresh rollouts find it at its target? Their calls are counted apart: the arm has no such stage."""
    assert record.draft is not None
    tried = await episode.confirm(record.draft, context)
    calls = sum(rollout.trajectory.usage.calls + verdict.usage.calls for rollout, verdict in tried)
    return assess.label([verdict for _, verdict in tried], record.seed.target_steps) is Label.CANDIDATE, calls


def pairs(ended: Sequence[Ended]) -> float:
    return float(sum(e.held for e in ended))


def calls_per_pair(ended: Sequence[Ended]) -> float:
    held = pairs(ended)
    return sum(e.calls for e in ended) / held if held else math.nan


def calls_per_sound_pair(ended: Sequence[Ended]) -> float:
    kept = sum(e.sound for e in ended)
    return sum(e.calls for e in ended) / kept if kept else math.nan


def all_calls_per_sound_pair(ended: Sequence[Ended]) -> float:
    kept = sum(e.sound for e in ended)
    return sum(e.calls + e.fresh for e in ended) / kept if kept else math.nan


def ratio(ours: list[Ended], theirs: list[Ended], figure: Callable[[Sequence[Ended]], float]) -> Interval:
    """Both arms are resampled together, seed by seed."""

    def of(both: Sequence[tuple[Ended, Ended]]) -> float:
        below = figure([pair[1] for pair in both])
        return figure([pair[0] for pair in both]) / below if below else math.nan

    return interval(list(zip(ours, theirs, strict=True)), of)


def report(ended: dict[str, list[Ended]], ground: Ground) -> bool:
    config, seeds = ground.config, len(ended["sage"])
    model = config.models.of("solver").model
    print(
        f"loop: corpus {config.corpus.name}, {seeds} seeds of --seed {config.seed}, steps {config.steps}, "
        f"K {config.loop.rollouts}, R {config.loop.rounds}, k {config.retrieval.k}, model {model}, "
        f"solver {ground.context.lineage.solver_digest[:12]} (figures of the loop, not of the data)\n"
    )
    roles = list(ended["sage"][0].spent)
    rows = []
    for name, of in ended.items():
        each = interval(of, lambda items: pairs(items) / len(items))
        by_role = [sum(e.spent[role] for e in of) for role in roles]
        counts = [sum(kind) for kind in zip(*((e.accepted, e.held, e.sound, e.relaxed) for e in of), strict=True)]
        rows.append((name, *counts, each, *by_role, sum(by_role), interval(of, calls_per_pair)))
    print(table(("arm", *KINDS, "held per seed", *roles, "calls", "calls per held pair"), rows))
    more = ratio(ended["default"], ended["sage"], pairs)
    fewer = ratio(ended["default"], ended["sage"], calls_per_pair)
    good = more.value >= 1 and fewer.value <= MOST_CALLS
    sounder = ratio(ended["default"], ended["sage"], calls_per_sound_pair)
    equal = ratio(ended["default"], ended["sage"], all_calls_per_sound_pair)
    print(f"\ndefault / sage: calls per pair that is sound as well {sounder}, with the fresh rollouts of both {equal}")
    print(f"default / sage: pairs {more}, calls per pair {fewer} (at least 1 and at most {MOST_CALLS})")
    print("kept" if good else "BROKEN")
    return good


async def main(options: argparse.Namespace) -> bool:
    ground = opened(options.corpus, options.out, [f"seed={options.seed}", *options.set])
    seeds = ground.seeds(options.seeds)[: options.limit]
    ended: dict[str, list[Ended]] = {}
    wanted = options.arms or list(STAGES)
    for name, context in arms(ground).items():
        if name not in wanted:
            continue
        began = time.monotonic()
        ended[name] = [await run(seed, context) for seed in seeds]
        print(f"{name}: {time.monotonic() - began:.0f} s", file=sys.stderr)
    return report(ended, ground)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--corpus", default="wiki")
    parser.add_argument("--seeds", type=int, default=200)
    parser.add_argument("--limit", type=int, help="only the first so many of them")
    parser.add_argument("--seed", type=int, default=7041)
    parser.add_argument("--arms", nargs="*", help="only these; sage and default are always needed")
    parser.add_argument("--set", action="append", default=[], help="any setting, for all arms")
    parser.add_argument("--out", type=Path, default=Path("outputs"))
    sys.exit(0 if asyncio.run(main(parser.parse_args())) else 1)
