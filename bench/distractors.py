"""What the distractors of a run do to the solver, and whether they still are what they were checked to be.

Three arms of K fresh rollouts on the same questions and samples: the index alone, the overlay, and as many neutral
passages: the distractors word for word, but for the claim. Every used distractor goes through all checks again,
from the record and the corpus alone. Intervals are bootstrapped over questions.
"""

import argparse
import asyncio
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench.common import Dug, dug, heading, interval, share, table
from pipeline.agents.solver import graded_rollout
from pipeline.context import RunContext
from pipeline.distractors.checks import DistractorChecks
from pipeline.distractors.encounters import encounters
from pipeline.retrieval.overlay import Overlay
from pipeline.run import prepare
from pipeline.text import normalise
from pipeline.types import Distractor, Draft, Kind, Outcome, Passage, Record, Rollout, Verdict

UNTOLD = "something that is not told here"
LEAST_DROP = 15.0
"""Points that the overlay must cost."""
FIRST = 1000
"""Sample of the first rollout: no record has it."""
Tried = list[tuple[Rollout, Verdict]]


class Asked(NamedTuple):
    """One question in all three arms."""

    record: Record
    draft: Draft
    used: tuple[Distractor, ...]
    without_distractors: Tried
    with_distractors: Tried
    neutral: Tried

    @property
    def lost(self) -> list[Rollout]:
        """Rollouts of the overlay that are wrong where the same sample was right without it."""
        pairs = zip(self.without_distractors, self.with_distractors, strict=True)
        return [rollout for (_, before), (rollout, after) in pairs if before.correct and not after.correct]


async def ask(record: Record, context: RunContext, rollouts: int) -> Asked:
    assert record.draft
    assert record.distractor_eval
    used = record.distractor_eval.used
    blank = [d.model_copy(update={"text": d.text.replace(d.claim, UNTOLD)}).passage for d in used]
    arms: list[Tried] = []
    for passages in ([], [d.passage for d in used], blank):
        arms.append(await arm(record.draft, context, passages, rollouts))
    return Asked(record, record.draft, used, *arms)


async def arm(draft: Draft, context: RunContext, passages: Sequence[Passage], rollouts: int) -> Tried:
    over = replace(context, retriever=Overlay(context.retriever, passages))
    return list(await asyncio.gather(*(graded_rollout(draft, FIRST + n, over) for n in range(rollouts))))


async def again(record: Record, context: RunContext) -> list[str]:
    """The used distractors that no longer pass, with the reason."""
    assert record.draft
    assert record.distractor_eval
    case = DistractorChecks(record.draft, context)
    checked = [await case.check(d.model_copy(update={"checks": ()}), last=True) for d in record.distractor_eval.used]
    return [f"{d.id}: {d.reason}: {d.checks[-1].detail}" for d in checked if not d.used]


def rate(tried: Tried) -> float:
    return 100 * sum(verdict.correct for _, verdict in tried) / len(tried)


def mean_rate(asked: Sequence[Asked], arm: str) -> float:
    return sum(rate(getattr(a, arm)) for a in asked) / len(asked)


def drop(asked: Sequence[Asked], arm: str) -> float:
    """Points by which the arm's solve rate lies below that of the index alone."""
    return mean_rate(asked, "without_distractors") - mean_rate(asked, arm)


def by_kind(records: Sequence[Record], asked: Sequence[Asked]) -> str:
    written = Counter(d.kind for r in records if r.distractor_eval for d in r.distractor_eval.distractors)
    used = Counter(d.kind for r in records if r.distractor_eval for d in r.distractor_eval.used)
    rows = []
    for kind in Kind:
        having = [a for a in asked if any(d.kind == kind for d in a.used)]
        found = [
            encounters(a.draft, [d for d in a.used if d.kind == kind], rollout, correct=verdict.correct)
            for a in having
            for rollout, verdict in a.with_distractors
        ]
        met, misled = sum(map(bool, found)), sum(any(e.outcome is Outcome.MISLED for e in one) for one in found)
        rates = (
            f"{mean_rate(having, 'without_distractors'):.0f} → {mean_rate(having, 'with_distractors'):.0f} %"
            if having
            else "–"
        )
        part = share(used[kind], used.total())
        rows.append((kind.value, written[kind], part, len(having), share(met, len(found)), share(misled, met), rates))
    return table(("kind", "written", "used", "pairs", "met", "misled of met", "solve rate"), rows)


def rejected(records: Sequence[Record]) -> str:
    reasons = Counter((d.kind, d.reason) for r in records if r.distractor_eval for d in r.distractor_eval.distractors)
    names = sorted({reason for _, reason in reasons if reason})
    rows = [(kind.value, *(reasons[kind.value, name] for name in names)) for kind in Kind]
    return table(("rejected by", *names), rows)


def claimed(asked: Asked, rollout: Rollout) -> bool:
    """Does it answer what a distractor claims?"""
    return normalise(rollout.answer) in {normalise(d.claim) for d in asked.used}


def followed(asked: Asked, rollout: Rollout) -> bool:
    """Does it search for a distractor's claim, or answer with one?"""
    found = encounters(asked.draft, asked.used, rollout, correct=False)
    return any(met.outcome is Outcome.MISLED for met in found)


def met_by_any(asked: Asked) -> int:
    """Distractors that a rollout of the overlay was shown."""
    shown = {i for rollout, _ in asked.with_distractors for call in rollout.trajectory.calls for i in call.passage_ids}
    return sum(d.id in shown for d in asked.used)


def report(run: Dug, asked: Sequence[Asked], broken: Sequence[str]) -> bool:
    tried = [record for record in run.accepted if record.distractor_eval]
    used = sum(len(a.used) for a in asked)
    print(heading("distractors", run.records))
    print(f"{len(tried)} pairs with distractors tried, {len(asked)} with an overlay, {used} distractors\n")
    print(by_kind(tried, asked), "\n")
    print(rejected(tried), "\n")
    for name in ("without_distractors", "with_distractors", "neutral"):
        print(f"solve rate {name}: {interval(asked, partial(mean_rate, arm=name))} %")
    overlay, neutral = (interval(asked, partial(drop, arm=name)) for name in ("with_distractors", "neutral"))
    more = interval(asked, lambda of: drop(of, "with_distractors") - drop(of, "neutral"))
    print(f"points lost: {overlay} (at least {LEAST_DROP:.0f}), with neutral passages {neutral}, difference {more}")
    lost = [(a, rollout) for a in asked for rollout in a.lost]
    claims, led, met = sum(claimed(*it) for it in lost), sum(followed(*it) for it in lost), sum(map(met_by_any, asked))
    print(
        f"lost rollouts that answer a claim: {share(claims, len(lost))} (half); that search for it or answer it: {led}"
    )
    print(f"distractors that a rollout met, without injection: {share(met, used)} (half)")
    print(f"distractors that pass all checks again: {share(used - len(broken), used)} (all)")
    print("\n".join(broken))
    good = overlay.value >= LEAST_DROP and more.low > 0 and 2 * claims >= len(lost) and 2 * met >= used and not broken
    print("kept" if good else "BROKEN")
    return good


async def main(options: argparse.Namespace) -> bool:
    run = dug(options.run, options.out, options.pairs)
    config = run.config.with_how(out=options.out)
    context = prepare.context(config, prepare.corpus(config))
    with_overlay = [r for r in run.accepted if r.distractor_eval and r.distractor_eval.used]
    asked = [await ask(record, context, options.rollouts) for record in with_overlay]
    broken = [line for record in with_overlay for line in await again(record, context)]
    return report(run, asked, broken)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", help="a run's folder or name, dug with distractors (--preset ragshaper)")
    parser.add_argument("--pairs", type=int, help="only the first so many accepted ones")
    parser.add_argument("--rollouts", type=int, default=8, help="K, in each arm")
    parser.add_argument("--out", type=Path, default=Path("outputs"))
    sys.exit(0 if asyncio.run(main(parser.parse_args())) else 1)
