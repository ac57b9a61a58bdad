"""Distractors for an accepted pair, and paired rollouts of the solver without and with them.

Which kinds are tried first is drawn from the question. The first ones fill the room there is, and the others stand in
only where none of these passed all checks; otherwise the easy kinds would replace the hard ones.

A wrong answer at the end of the chain is a wrong answer to the question. So all kinds are tried at the last hop before
any is tried at an earlier one. An earlier hop gets one passage at most, since that already leads the rest of the chain
astray; a shortcut, which concerns the middle of a chain, is tried first there.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, TypeVar

from pipeline.agents.solver import graded_rollout
from pipeline.context import RunContext
from pipeline.distractors.checks import DistractorChecks
from pipeline.distractors.hard_passages import overlaid
from pipeline.distractors.kinds import base
from pipeline.distractors.writing_task import writing_task
from pipeline.errors import DeadlineExceeded, FormatError, RequestRefused
from pipeline.llm import ledger
from pipeline.types import Distractor, DistractorCheck, DistractorEval, Draft, Rollout, Usage, Verdict, sha256
from pipeline.types.distractor import Kind

EARLIER_HOPS = 4
"""Before the last hop a kind has this many times fewer tries."""
S = TypeVar("S")
T = TypeVar("T")
Tried = TypeVar("Tried", bound=tuple[Any, ...])
"""A rollout, with its verdict and what else belongs to it."""


async def evaluate_distractors(
    draft: Draft, context: RunContext, before: DistractorEval | None = None
) -> DistractorEval | None:
    """Distractors of the configured kinds, and paired rollouts if one passed its checks; None without kinds.

    The samples are fresh: neither the verdict nor the confirmation used them. A pair in which one rollout has no
    verdict is left out (`missing_pairs`). `before` holds what an earlier call made; only the rest is made now.
    """
    if not context.config.distractors.kinds:
        return None
    ledger.enter("distractors")
    made = before or await written(draft, context)
    over = replace(context, retriever=overlaid(context.retriever, draft, made.used, context.config.distractors))

    async def pair(sample: int) -> tuple[Rollout, Verdict, Rollout, Verdict]:
        return *await graded_rollout(draft, sample, context), *await graded_rollout(draft, sample, over)

    fields = ("without_distractors", "without_distractors_verdicts", "with_distractors", "with_distractors_verdicts")
    known = zip(*(getattr(made, name) for name in fields), strict=True)
    pairs = await completed(known, _samples(made, context), pair)
    columns = zip(*pairs, strict=True) if pairs else 4 * ((),)
    return made.model_copy(update=dict(zip(fields, columns, strict=True)))


async def with_verdict(attempt: Callable[[S], Awaitable[T]], over: Iterable[S]) -> list[T]:
    """Return the results of those that finished: a timeout, a refused request or an unreadable judge costs a rollout,
    not the pair."""

    async def finished(one: S) -> list[T]:
        try:
            # Begun here, so that none is dropped unawaited where the run is cancelled before its turn.
            return [await attempt(one)]
        except (DeadlineExceeded, FormatError, RequestRefused, TimeoutError):
            return []

    return [result for found in await asyncio.gather(*map(finished, over)) for result in found]


async def completed(
    known: Iterable[Tried], samples: Iterable[int], attempt: Callable[[int], Awaitable[Tried]]
) -> list[Tried]:
    """What is known and what an attempt makes of each other sample, without those that end without a verdict; by
    sample."""
    tried = list(known)
    owed = sorted({*samples} - {pair[0].sample for pair in tried})
    return sorted([*tried, *await with_verdict(attempt, owed)], key=lambda pair: pair[0].sample)


def missing_pairs(made: DistractorEval | None, context: RunContext) -> bool:
    """Are rollouts still to be made?"""
    return made is not None and not {*_samples(made, context)} <= {made.sample for made in made.without_distractors}


def _samples(made: DistractorEval, context: RunContext) -> range:
    """Those of the pairs of rollouts; none where no distractor is used."""
    first = 2 * context.config.loop.rollouts
    return range(first, first + context.config.distractors.rollouts if made.used else first)


async def written(draft: Draft, context: RunContext) -> DistractorEval:
    """All that was written and how its checks went, without rollouts."""
    writing, room = _Writing(DistractorChecks(draft, context)), context.config.distractors.passages
    kinds = sorted(context.config.distractors.kinds, key=lambda kind: sha256(f"{draft.question}\n{kind}"))
    last = len(draft.hops) - 1
    for target in range(last, last - 1 if context.config.distractors.hops == "last" else -1, -1):
        for kind in [kind for kind in kinds if kind not in {d.kind for d in writing.used}]:
            if len(writing.used) + base.load(kind).passages <= room:
                await writing.fill(kind, target)
        room = min(room, 1 + sum(d.target == last for d in writing.used))
        kinds.sort(key=lambda kind: kind != Kind.FALSE_SHORTCUT)
    return DistractorEval(
        distractors=tuple(writing.written),
        unwritten=tuple(writing.unwritten),
        writer=writing.usage,
        reader=writing.checks.reader,
        judge=writing.checks.judge,
        second=writing.checks.second,
    )


@dataclass
class _Writing:
    """What was written for one pair so far."""

    checks: DistractorChecks
    written: list[Distractor] = field(default_factory=list)
    unwritten: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    @property
    def used(self) -> list[Distractor]:
        return [distractor for distractor in self.written if distractor.used]

    async def fill(self, kind: str, target: int) -> None:
        """Try until the passages of one try can all be used."""
        draft, context = self.checks.draft, self.checks.context
        if (task := await writing_task(draft, kind, target, context)) is None:
            return
        used = (distractor.source_id.rpartition("#")[0] for distractor in self.used)
        task = task.model_copy(update={"excluded": (*task.excluded, *used)})
        tries, refused = context.config.distractors.tries, list[Distractor]()
        tries = tries if target == len(draft.hops) - 1 else ceil(tries / EARLIER_HOPS)
        for sample in range(tries):
            made = await self._try(kind, task, sample, refused, last=sample == tries - 1)
            if made is None or (made and all(distractor.used for distractor in made)):
                return
            refused += made

    async def _try(
        self, kind: str, task: base.WritingTask, sample: int, refused: Sequence[Distractor], *, last: bool
    ) -> Sequence[Distractor] | None:
        """What one try gave, as it was checked; None where the writer holds that the kind does not fit the hop.

        `refused` holds what the tries before it gave.
        """
        wanted = base.load(kind).passages
        try:
            distractors, usage = await base.load(kind).write(kind, task, self.checks.context, sample, refused)
        except FormatError:
            self.unwritten.append(kind)
            return ()
        if base.load(kind).role == "reader":
            self.checks.reader += usage
        else:
            self.usage += usage
        made = [await self.checks.check(distractor, last=last) for distractor in distractors[:wanted]]
        if len(made) < wanted:
            self.unwritten.append(kind)
        if len(made) < wanted or not all(distractor.used for distractor in made):
            made = list(map(_incomplete, made))
        self.written += made
        return made or None


def _incomplete(distractor: Distractor) -> Distractor:
    """A passage whose companions cannot be used."""
    failed = DistractorCheck(name="whole", passed=False, detail="another passage of the try cannot be used")
    return distractor.model_copy(update={"checks": (*distractor.checks, failed)}) if distractor.used else distractor
