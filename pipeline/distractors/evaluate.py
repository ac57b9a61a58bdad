"""The stage after acceptance: distractors for one pair, and what they do to the solver.

The kinds are balanced by lot, drawn from the question: the first ones fill the room there is, and the others stand in
only where none of these passed all checks, or the easy kinds would take the places of the hard ones. So a record stays
a pure function of its seed.

What is wrong at the end of the chain is wrong in the answer. So all kinds are tried at the last hop before any is at an
earlier one. There one passage is the most: it leads the whole rest of the chain astray, and whoever follows it ends
anywhere. A shortcut comes first there: it is about the middle of a chain.
"""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from math import ceil

from pipeline.context import RunContext
from pipeline.distractors.aim import aim
from pipeline.distractors.checks import DistractorChecks
from pipeline.distractors.kinds import base
from pipeline.distractors.kinds.base import Aim
from pipeline.errors import DeadlineExceeded, FormatError
from pipeline.llm import ledger
from pipeline.retrieval.overlay import Overlay
from pipeline.types import Check, Distractor, DistractorEval, Draft, Kind, Rollout, Usage, Verdict, sha256

EARLIER = 4
"""At a hop before the last one a kind has so many times fewer tries."""
Attempt = Callable[[Draft, int, RunContext], Awaitable[tuple[Rollout, Verdict]]]
"""One rollout of the solver over the site's index, with its verdict."""
UNDECIDED = (DeadlineExceeded, FormatError, TimeoutError)
"""What leaves a rollout without a verdict. In an optional stage that costs the rollout, not the pair."""
_Pair = tuple[Rollout, Verdict, Rollout, Verdict]
"""One sample without the overlay, then with it."""


async def evaluate_distractors(
    draft: Draft, context: RunContext, attempt: Attempt, before: DistractorEval | None = None
) -> DistractorEval | None:
    """Distractors of the configured kinds, and paired rollouts where one is used; none where no kind is configured.

    The samples are fresh: neither the verdict nor the confirmation had them. A pair of rollouts of which one has no
    verdict is left out (`unpaired`). What an earlier try left in `before` is kept and only made whole.
    """
    chosen = context.config.distractors
    if not chosen.kinds:
        return None
    ledger.enter("distractors")
    made = before or await written(draft, context)
    overlaid = replace(context, retriever=Overlay(context.retriever, [d.passage for d in made.used]))

    async def pair(sample: int) -> _Pair | None:
        try:
            return *await attempt(draft, sample, context), *await attempt(draft, sample, overlaid)
        except UNDECIDED:
            return None

    found = await asyncio.gather(*map(pair, unpaired(made, context)))
    return _with(made, [pair for pair in found if pair])


def unpaired(made: DistractorEval | None, context: RunContext) -> list[int]:
    """The samples whose two rollouts are still to be made."""
    if made is None or not made.used:
        return []
    first = 2 * context.config.loop.rollouts
    return sorted({*range(first, first + context.config.distractors.rollouts)} - {r.sample for r in made.plain})


def _with(made: DistractorEval, found: list[_Pair]) -> DistractorEval:
    """With these pairs among its own, by sample."""
    own = zip(made.plain, made.plain_verdicts, made.opposed, made.opposed_verdicts, strict=True)
    pairs = sorted([*own, *found], key=lambda pair: pair[0].sample)
    return made.model_copy(
        update={
            "plain": tuple(rollout for rollout, *_ in pairs),
            "plain_verdicts": tuple(verdict for _, verdict, *_ in pairs),
            "opposed": tuple(rollout for *_, rollout, _ in pairs),
            "opposed_verdicts": tuple(verdict for *_, verdict in pairs),
        }
    )


async def written(draft: Draft, context: RunContext) -> DistractorEval:
    """All that was written and how its checks went; no rollouts."""
    state, room = _Desk(DistractorChecks(draft, context)), context.config.distractors.passages
    lot = sorted(context.config.distractors.kinds, key=lambda kind: sha256(f"{draft.question}\n{kind}"))
    last = len(draft.hops) - 1
    for end in base.backwards(draft):
        for kind in [kind for kind in lot if kind not in {d.kind for d in state.used}]:
            if len(state.used) + base.load(kind).PIECES <= room:
                await state.fill(kind, end)
        room = min(room, 1 + sum(d.end == last for d in state.used))
        lot.sort(key=lambda kind: kind != Kind.FALSE_SHORTCUT)
    return DistractorEval(
        distractors=tuple(state.written),
        unwritten=tuple(state.unwritten),
        writer=state.writer,
        reader=state.case.reader,
        judge=state.case.judge,
        second=state.case.second,
    )


@dataclass
class _Desk:
    """What was written for one pair so far."""

    case: DistractorChecks
    written: list[Distractor] = field(default_factory=list)
    unwritten: list[str] = field(default_factory=list)
    writer: Usage = field(default_factory=Usage)

    @property
    def used(self) -> list[Distractor]:
        return [distractor for distractor in self.written if distractor.used]

    async def fill(self, kind: str, end: int) -> None:
        """Try after try until one can be used."""
        maker, draft, context = base.load(kind), self.case.draft, self.case.context
        aimed = await aim(draft, kind, end, context) if end in maker.ends(draft) else None
        if aimed is None:
            return
        tries = context.config.distractors.tries * maker.PIECES
        for sample in range(tries if end == len(draft.hops) - 1 else ceil(tries / EARLIER)):
            if await self._try(kind, aimed, sample):
                return

    async def _try(self, kind: str, aimed: Aim, sample: int) -> bool:
        try:
            writing = await base.write(kind, aimed, self.case.context, sample)
        except FormatError:
            self.unwritten.append(kind)
            return False
        self.writer += writing.usage
        pieces = [await self.case.check(distractor) for distractor in writing.distractors[: base.load(kind).PIECES]]
        if len(pieces) < base.load(kind).PIECES:
            self.unwritten.append(kind)
        whole = len(pieces) == base.load(kind).PIECES and all(piece.used for piece in pieces)
        self.written += pieces if whole else map(_alone, pieces)
        return whole


def _alone(piece: Distractor) -> Distractor:
    """A piece whose other pieces cannot be used."""
    alone = Check(name="whole", passed=False, detail="another piece cannot be used")
    return piece.model_copy(update={"checks": (*piece.checks, alone)}) if piece.used else piece
