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

from pipeline.adversary.aims import aim
from pipeline.adversary.checks import Case
from pipeline.agents.site import Site
from pipeline.distractors import base
from pipeline.distractors.base import Aim
from pipeline.errors import DeadlineExceeded, FormatError
from pipeline.llm import ledger
from pipeline.retrieval.overlay import Overlay
from pipeline.types import Check, Distractor, Draft, Kind, Opposition, Rollout, Usage, Verdict, sha256

EARLIER = 4
"""At a hop before the last one a kind has so many times fewer tries."""
Attempt = Callable[[Draft, int, Site], Awaitable[tuple[Rollout, Verdict]]]
"""One rollout of the solver over the site's index, with its verdict."""
UNDECIDED = (DeadlineExceeded, FormatError, TimeoutError)
"""What leaves a rollout without a verdict. In an optional stage that costs the rollout, not the pair."""
_Pair = tuple[Rollout, Verdict, Rollout, Verdict]
"""One sample without the overlay, then with it."""


async def oppose(draft: Draft, site: Site, attempt: Attempt, before: Opposition | None = None) -> Opposition | None:
    """Distractors of the configured kinds, and paired rollouts where one is used; none where no kind is configured.

    The samples are fresh: neither the verdict nor the confirmation had them. A pair of rollouts of which one has no
    verdict is left out (`unpaired`). What an earlier try left in `before` is kept and only made whole.
    """
    chosen = site.config.distractors
    if not chosen.kinds:
        return None
    ledger.enter("distractors")
    made = before or await written(draft, site)
    overlaid = replace(site, retriever=Overlay(site.retriever, [d.passage for d in made.used]))

    async def pair(sample: int) -> _Pair | None:
        try:
            return *await attempt(draft, sample, site), *await attempt(draft, sample, overlaid)
        except UNDECIDED:
            return None

    found = await asyncio.gather(*map(pair, unpaired(made, site)))
    return _with(made, [pair for pair in found if pair])


def unpaired(made: Opposition | None, site: Site) -> list[int]:
    """The samples whose two rollouts are still to be made."""
    if made is None or not made.used:
        return []
    first = 2 * site.config.loop.rollouts
    return sorted({*range(first, first + site.config.distractors.rollouts)} - {r.sample for r in made.plain})


def _with(made: Opposition, found: list[_Pair]) -> Opposition:
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


async def written(draft: Draft, site: Site) -> Opposition:
    """All that was written and how its checks went; no rollouts."""
    desk, room = _Desk(Case(draft, site)), site.config.distractors.passages
    lot = sorted(site.config.distractors.kinds, key=lambda kind: sha256(f"{draft.question}\n{kind}"))
    last = len(draft.hops) - 1
    for end in base.backwards(draft):
        for kind in [kind for kind in lot if kind not in {d.kind for d in desk.used}]:
            if len(desk.used) + base.load(kind).PIECES <= room:
                await desk.fill(kind, end)
        room = min(room, 1 + sum(d.end == last for d in desk.used))
        lot.sort(key=lambda kind: kind != Kind.FALSE_SHORTCUT)
    return Opposition(
        distractors=tuple(desk.written),
        unwritten=tuple(desk.unwritten),
        writer=desk.writer,
        reader=desk.case.reader,
        judge=desk.case.judge,
        second=desk.case.second,
    )


@dataclass
class _Desk:
    """What was written for one pair so far."""

    case: Case
    written: list[Distractor] = field(default_factory=list)
    unwritten: list[str] = field(default_factory=list)
    writer: Usage = field(default_factory=Usage)

    @property
    def used(self) -> list[Distractor]:
        return [distractor for distractor in self.written if distractor.used]

    async def fill(self, kind: str, end: int) -> None:
        """Try after try until one can be used."""
        maker, draft, site = base.load(kind), self.case.draft, self.case.site
        aimed = await aim(draft, kind, end, site) if end in maker.ends(draft) else None
        if aimed is None:
            return
        tries = site.config.distractors.tries * maker.PIECES
        for sample in range(tries if end == len(draft.hops) - 1 else ceil(tries / EARLIER)):
            if await self._try(kind, aimed, sample):
                return

    async def _try(self, kind: str, aimed: Aim, sample: int) -> bool:
        try:
            writing = await base.write(kind, aimed, self.case.site, sample)
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
