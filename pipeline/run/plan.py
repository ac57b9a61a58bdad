"""Which seeds a run tries, in which order, and how many of them its plan needs.

The order is a pure function of configuration and corpus: all passages permuted, again for each draw, by a key made of
the run's seed and the corpus, without those that the quality filter drops. A permutation is evaluated place by place,
so that the order of a large corpus costs no more than that of a small one. The plan is the shortest prefix of it that
holds the wanted pairs, so neither concurrency nor kills nor the order of completion can change what it is. A pair is
what was accepted and what the gates let through, judged in the order of the plan.
"""

import hashlib
import math
from array import array
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import NamedTuple, Protocol

from pipeline.config import RunConfig
from pipeline.config.runtime import MOST_SEEDS, Runtime
from pipeline.corpus.seed_passages import explain_refusals, quality
from pipeline.corpus.split import side
from pipeline.errors import UsageError
from pipeline.gates import Drop, Gates, dropped
from pipeline.store.journal import Head, Journal, RunIdentity
from pipeline.types import Passage, Record, Seed, Status, sha256

SEEDS_PER_PAIR = 10
FEWEST_AT_WORK = 8
NO_YIELD = 40
"""Tries after which a plan of the demo model ends if none of them gave a chain: no more will come of such texts."""
Judge = Callable[[Head], Drop | None]
"""Says whether an accepted seed passes the gates. Asked once for each, in the order of the plan."""


class PassageSource(Protocol):
    """What a plan needs of a corpus."""

    @property
    def passages(self) -> Sequence[Passage]: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def language(self) -> str: ...
    def in_order_of_ids(self, place: int) -> Passage:
        """A passage by its place in an order that every source of the same fingerprint shares."""
        ...


class Planned(NamedTuple):
    """A seed and the string that sorts it into the order of the plan."""

    seed: Seed
    order: str


class Order:
    """The seeds of a run in order, each built when it is first needed. Keys in `known` have passed the filter before.

    The corpus must be `askable`.
    """

    def __init__(self, config: RunConfig, corpus: PassageSource, known: Container[str] = ()) -> None:
        from pipeline.run import given_questions

        self._config, self._run = config, RunIdentity(config.digest(), corpus.fingerprint)
        self._corpus, self._known = corpus, known
        self._given = given_questions.of(config)
        self._ordinals = array("Q")
        """By index, how many draws of passages come before that of the seed. A seed holds its passage, so that millions
        of them would fill the memory: only the latest are kept."""
        self._planned = lru_cache(maxsize=MOST_SEEDS)(self._drawn)
        self._drops: list[tuple[int, str]] = []
        self._rest = self._generate()

    def __getitem__(self, index: int) -> Planned:
        while len(self._ordinals) <= index:
            self._ordinals.append(next(self._rest))
        return self._planned(self._ordinals[index])

    def dropped(self, before: int) -> Counter[str]:
        """Passages that the filter dropped ahead of the seed of that index, by reason."""
        return Counter(reason for index, reason in self._drops if index < before)

    def at(self, order: str) -> Planned:
        """The seed that `Planned.order` names, without those before it."""
        draw, place = map(int, order.split("-"))
        return self._drawn(draw * self._size + place)

    @property
    def _size(self) -> int:
        return len(self._given or self._corpus.passages)

    def _generate(self) -> Iterator[int]:
        for ordinal in count():
            seed = self._planned(ordinal).seed
            # Who brings a question wants that one.
            if (
                not self._given
                and seed.key not in self._known
                and (reason := quality(seed.passage, self._corpus.language))
            ):
                self._drops.append((len(self._ordinals), reason))
            else:
                yield ordinal

    def _drawn(self, ordinal: int) -> Planned:
        draw, place = divmod(ordinal, self._size)
        shuffle = sha256(f"{self._config.seed}\n{self._corpus.fingerprint}\n{draw}")
        at = permuted(place, self._size, shuffle)
        passage = self._given[at].passage if self._given else self._corpus.in_order_of_ids(at)
        key = self._run.key(passage.id, draw)
        return Planned(self._seed(key, passage, draw), f"{draw:06}-{place:012}")

    def _seed(self, key: str, passage: Passage, draw: int) -> Seed:
        """Its target rests on passage, draw and aims alone, so that runs that differ in another setting, or in a
        prompt, can be compared seed by seed."""
        chance = f"{self._config.seed}\n{passage.id}\n{draw}"
        return Seed(
            key=key,
            passage=passage,
            draw=draw,
            side=side(passage.document_id),
            target_steps=drawn(self._config.aims, _chance(chance, "target")),
        )


def drawn(weights: Mapping[int, int], chance: int) -> int:
    """Return one of the keys, each as often as its weight says; the chance is a large number."""
    keys = [key for key in sorted(weights) for _ in range(weights[key])]
    return keys[chance % len(keys)]


def _chance(of: str, name: str) -> int:
    return int(sha256(f"{of}\n{name}")[:16], 16)


def askable(corpus: PassageSource) -> None:
    """Raise UsageError where no passage can be a seed."""
    drops: Counter[str] = Counter()
    for passage in corpus.passages:
        reason = quality(passage, corpus.language)
        if reason is None:
            return
        drops[reason] += 1
    reasons = explain_refusals(drops) or "there are none"
    raise UsageError(f"no passage of this corpus can start a question. {reasons}")


def bounds(how: Runtime) -> tuple[int | None, int]:
    """Return the number of pairs wanted, or None where `seeds` decides, and the most seeds that may be tried."""
    if how.seeds is not None:
        return None, how.seeds
    return how.pairs, how.max_seeds if how.max_seeds is not None else SEEDS_PER_PAIR * how.pairs


def prefix(heads: Iterable[Head], config: RunConfig, judge: Judge) -> Iterator[tuple[Head, Drop | None]]:
    """The part of a journal that counts, in the order of the plan; the rest is surplus.

    For a finished run that is its plan; for one that was interrupted, what the plan has so far.
    """
    state = PlanState(config, judge)
    for index, head in enumerate(sorted(heads, key=lambda head: head.order)):
        if state.complete:
            return
        drops = state.end(index, head)
        yield head, drops[0][1] if drops else None


def judged(
    journal: Journal,
    config: RunConfig,
    include: tuple[str, ...] = (),
    joined: Callable[[Record], Record] = lambda record: record,
) -> Iterator[tuple[Record, Drop | None]]:
    """The records of the plan so far, in its order, one at a time in memory; `joined` adds what was found out later.

    What the gates dropped is rejected, with `gate:` and the gate as its reason. Rejected records whose reason `include`
    names come last, since they too must pass the gates, and must not take the place of a pair. These keep their reason,
    whatever a gate says: they were no pairs before.
    """
    gates, held, late = Gates(config.gates), dict[str, Record](), list[str]()

    def read(key: str) -> Record:
        return joined(journal.read(key))

    def judge(head: Head) -> Drop | None:
        held[head.key] = record = read(head.key)
        return gates.admit(gates.check(record))

    for head, drop in prefix(journal.heads(), config, judge):
        if head.reason in include:
            late.append(head.key)
            continue
        record = held.pop(head.key, None) or read(head.key)
        yield dropped(record, drop) if drop else record, drop
    for record in map(read, late):
        # What nothing has measured is in no view, and must keep nothing else out of one.
        yield record, gates.admit(gates.check(record)) if record.confirmation_verdicts else None


class PlanState:
    """What the plan still needs, from how the seeds ended that did. Seeds are known by their index in the order."""

    def __init__(self, config: RunConfig, judge: Judge) -> None:
        self._wanted, self._tries = bounds(config.how)
        self._exactly = config.how.seeds is not None
        asked = config.how.seeds is not None or config.how.max_seeds is not None
        self._may_yield_nothing = not config.models.of("generator").capabilities.understands and not asked
        self._judge, self._chainless = judge, 0
        self._ahead: dict[int, Head] = {}
        self.passed = 0
        """Pairs among the seeds before `length`."""
        self.length = 0
        """All seeds before this index have ended, are judged, and belong to the plan."""

    def end(self, index: int, head: Head) -> list[tuple[Head, Drop]]:
        """A seed has ended; what the gates drop now that all before it have."""
        drops = []
        if index >= self.length:
            self._ahead[index] = head
        while not self.complete and self.length in self._ahead:
            head = self._ahead.pop(self.length)
            if head.status is Status.ACCEPTED:
                if drop := self._judge(head):
                    drops.append((head, drop))
                self.passed += drop is None
            self._chainless += head.reason.partition(":")[0] in ("no_draft", "superficial")
            self.length += 1
        return drops

    @property
    def complete(self) -> bool:
        # The first seeds gave no chain, and no more will come of these texts.
        no_yield = self._may_yield_nothing and self.length == self._chainless == NO_YIELD
        return no_yield or self.passed == self._wanted or self.length >= self._tries

    @property
    def exhausted(self) -> bool:
        """As many seeds as are worth it were tried, and there are fewer pairs than wanted."""
        return self.complete and self._wanted is not None and self.passed < self._wanted

    def max_in_flight(self) -> int:
        """Seeds worth having at work at once: what the missing pairs will take at the yield so far, since every seed
        beyond the plan is paid for and put aside. It changes when a seed is begun, never which seeds the plan holds.
        """
        if self._wanted is None:
            return self._tries
        accepted = self.passed + sum(head.status is Status.ACCEPTED for head in self._ahead.values())
        ended = self.length + len(self._ahead)
        missing = max(0, self._wanted - accepted)
        return max(FEWEST_AT_WORK, math.ceil(missing * (ended + 2) / (accepted + 1)))

    def next_needed(self) -> int:
        """No seed from this index on is needed if the gates let through all that was accepted; they may not."""
        if self.complete or self._wanted is None:
            return self.length if self.complete else self._tries
        passed = self.passed
        for index in sorted(self._ahead):
            passed += self._ahead[index].status is Status.ACCEPTED
            if passed == self._wanted:
                return min(index + 1, self._tries)
        return self._tries


_ROUNDS = 8


def permuted(place: int, size: int, key: str) -> int:
    """The number, of all below `size`, that stands at this place: each stands at one, and the key decides at which.

    A Feistel network over the least even number of bits that hold them all; what comes out beyond them goes in again,
    fewer than four times on average.
    """
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    while True:
        left, right = place >> half, place & mask
        for number in range(_ROUNDS):
            mixed = hashlib.sha256(f"{key}\n{number}\n{right}".encode()).digest()
            left, right = right, left ^ (int.from_bytes(mixed[:8], "little") & mask)
        place = left << half | right
        if place < size:
            return place
