"""Distractors for an accepted pair, and paired rollouts of the solver without and with them.

The order of the kinds is drawn from the question. The first kinds fill the available room, and later ones are written
only if none of these passed all checks; otherwise the easy kinds would replace the hard ones.

A wrong answer at the end of the chain is a wrong answer to the question. So all kinds are tried at the last hop before
any is tried at an earlier one. An earlier hop gets one passage at most, because that misleads the remaining chain
already; a shortcut, which concerns the middle of a chain, is tried first there.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from math import ceil
from typing import Any, TypeVar

from pipeline.agents.solver import graded_rollout
from pipeline.context import RunContext
from pipeline.distractors.checks import DistractorChecks
from pipeline.distractors.hard_passages import build_overlay
from pipeline.distractors.kinds import base
from pipeline.distractors.writing_task import writing_task
from pipeline.errors import DeadlineExceeded, FormatError, RequestRefused
from pipeline.llm import ledger
from pipeline.types import Distractor, DistractorCheck, DistractorEval, Draft, Rollout, Usage, Verdict, sha256
from pipeline.types.distractor import Kind

EARLIER_HOPS = 4
"""The number of attempts at an earlier hop is divided by this."""
S = TypeVar("S")
T = TypeVar("T")
Attempt = TypeVar("Attempt", bound=tuple[Any, ...])
"""A rollout, its verdict and further values that belong to it."""


async def evaluate_distractors(
    draft: Draft, context: RunContext, before: DistractorEval | None = None
) -> DistractorEval | None:
    """Write distractors of the configured kinds, and run paired rollouts if one passed its checks. None without kinds.

    The samples are fresh: neither the verdict nor the confirmation used them. A pair in which one rollout has no
    verdict is left out (`has_missing_pairs`). `before` is the result of an earlier call, which this call completes.
    """
    if not context.config.distractors.kinds:
        return None
    ledger.enter("distractors")
    evaluation = before or await write_distractors(draft, context)
    overlay = build_overlay(context.retriever, draft, evaluation.used, context.config.distractors)
    with_overlay = replace(context, retriever=overlay)

    async def pair(sample: int) -> tuple[Rollout, Verdict, Rollout, Verdict]:
        return *await graded_rollout(draft, sample, context), *await graded_rollout(draft, sample, with_overlay)

    fields = ("without_distractors", "without_distractors_verdicts", "with_distractors", "with_distractors_verdicts")
    earlier_pairs = zip(*(getattr(evaluation, name) for name in fields), strict=True)
    pairs = await attempt_missing(earlier_pairs, _samples(evaluation, context), pair)
    columns = zip(*pairs, strict=True) if pairs else 4 * ((),)
    return evaluation.model_copy(update=dict(zip(fields, columns, strict=True)))


async def gather_finished(attempt: Callable[[S], Awaitable[T]], over: Iterable[S]) -> list[T]:
    """Return the results of the attempts that finished.

    A timeout, a refused request or an unreadable judge costs a rollout, not the pair.
    """

    async def finish(argument: S) -> list[T]:
        try:
            # Start the attempt here, so that a run that is cancelled first leaves no coroutine unawaited.
            return [await attempt(argument)]
        except (DeadlineExceeded, FormatError, RequestRefused, TimeoutError):
            return []

    return [result for results in await asyncio.gather(*map(finish, over)) for result in results]


async def attempt_missing(
    earlier: Iterable[Attempt], samples: Iterable[int], attempt: Callable[[int], Awaitable[Attempt]]
) -> list[Attempt]:
    """Attempt the samples that are not among the earlier ones. Return all that have a verdict, sorted by sample."""
    attempts = list(earlier)
    missing = sorted({*samples} - {pair[0].sample for pair in attempts})
    return sorted([*attempts, *await gather_finished(attempt, missing)], key=lambda pair: pair[0].sample)


def has_missing_pairs(evaluation: DistractorEval | None, context: RunContext) -> bool:
    if evaluation is None:
        return False
    return not {*_samples(evaluation, context)} <= {rollout.sample for rollout in evaluation.without_distractors}


def _samples(evaluation: DistractorEval, context: RunContext) -> range:
    first = 2 * context.config.loop.rollouts
    return range(first, first + context.config.distractors.rollouts if evaluation.used else first)


async def write_distractors(draft: Draft, context: RunContext) -> DistractorEval:
    writing, room = _Writing(DistractorChecks(draft, context)), context.config.distractors.passages
    kinds = sorted(context.config.distractors.kinds, key=lambda kind: sha256(f"{draft.question}\n{kind}"))
    last = len(draft.hops) - 1
    for target in range(last, last - 1 if context.config.distractors.hops == "last" else -1, -1):
        for kind in [kind for kind in kinds if kind not in {d.kind for d in writing.used}]:
            if len(writing.used) + base.load(kind).passages <= room:
                await writing.write_until_used(kind, target)
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
    checks: DistractorChecks
    written: list[Distractor] = field(default_factory=list)
    unwritten: list[str] = field(default_factory=list)
    usage: Usage = field(default_factory=Usage)

    @property
    def used(self) -> list[Distractor]:
        return [distractor for distractor in self.written if distractor.used]

    async def write_until_used(self, kind: str, target: int) -> None:
        draft, context = self.checks.draft, self.checks.context
        if (task := await writing_task(draft, kind, target, context)) is None:
            return
        used = (distractor.source_id.rpartition("#")[0] for distractor in self.used)
        task = task.model_copy(update={"excluded": (*task.excluded, *used)})
        attempts, refused = context.config.distractors.tries, list[Distractor]()
        attempts = attempts if target == len(draft.hops) - 1 else ceil(attempts / EARLIER_HOPS)
        for sample in range(attempts):
            distractors = await self._attempt(kind, task, sample, refused, last=sample == attempts - 1)
            if distractors is None or (distractors and all(distractor.used for distractor in distractors)):
                return
            refused += distractors

    async def _attempt(
        self, kind: str, task: base.WritingTask, sample: int, refused: Sequence[Distractor], *, last: bool
    ) -> Sequence[Distractor] | None:
        """Return the checked distractors of one attempt, or None if the writer decides that the kind does not fit.

        `refused` holds the distractors of earlier attempts.
        """
        passage_count = base.load(kind).passages
        try:
            distractors, usage = await base.load(kind).write(kind, task, self.checks.context, sample, refused)
        except FormatError:
            self.unwritten.append(kind)
            return ()
        if base.load(kind).role == "reader":
            self.checks.reader += usage
        else:
            self.usage += usage
        checked = [await self.checks.check(distractor, last=last) for distractor in distractors[:passage_count]]
        if len(checked) < passage_count:
            self.unwritten.append(kind)
        if len(checked) < passage_count or not all(distractor.used for distractor in checked):
            checked = list(map(_fail_incomplete, checked))
        self.written += checked
        return checked or None


def _fail_incomplete(distractor: Distractor) -> Distractor:
    failed = DistractorCheck(name="whole", passed=False, detail="another passage of the try cannot be used")
    return distractor.model_copy(update={"checks": (*distractor.checks, failed)}) if distractor.used else distractor
