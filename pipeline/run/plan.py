"""The order in which a run tries seeds, and how many of them its plan needs.

The order is a pure function of configuration and corpus. Each draw permutes all passages, without those that the
quality filter drops, by a key made of the run's seed and the corpus. The permutation is computed one place at a time,
so a large corpus costs no more than a small one. The plan is the shortest prefix of the order that holds the wanted
pairs, so it depends neither on concurrency nor on kills nor on which seed ends first. A pair is a seed that was
accepted and that the gates pass, judged in the order of the plan.
"""

import hashlib
import math
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import NamedTuple, Protocol

from pipeline.config import RunConfig
from pipeline.config.runtime import MOST_SEEDS, Runtime
from pipeline.corpus.seed_passages import explain_refusals, quality
from pipeline.corpus.train_eval_split import side
from pipeline.errors import UsageError
from pipeline.gates import Drop, Gates, mark_dropped
from pipeline.store.journal import Head, Journal, RunIdentity
from pipeline.types import Cause, Passage, ReasonCode, Record, Seed, Status, sha256
from pipeline.types.version import AGAIN, SeedPlace, fingerprint_seed

SEEDS_PER_PAIR = 10
FEWEST_AT_WORK = 8
NO_YIELD = 40
"""Stop after this many seeds if none gave a chain of hops: the demo model cannot read this corpus."""
Judge = Callable[[Head], Drop | None]
"""Returns how the gates drop an accepted seed, or None. Called once per seed, in the order of the plan."""


class PassageSource(Protocol):
    """The part of a corpus that a plan reads."""

    @property
    def passages(self) -> Sequence[Passage]: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def language(self) -> str: ...
    def passage(self, passage_id: str) -> Passage | None: ...
    def in_order_of_ids(self, place: int) -> Passage:
        """Return a passage by its place in an order that all sources with this fingerprint share."""
        ...


class Planned(NamedTuple):
    """A seed and the string that sorts it into the plan."""

    seed: Seed
    order: str


class Order:
    """The seeds of a run in order, each built when it is first needed.

    The corpus must pass `check_askable`. Seeds with keys in `passed_keys` have already passed the quality filter.
    Seeds of `again` come first; they are in the corpus. They and those of `tried` are left out after that.
    """

    def __init__(
        self,
        config: RunConfig,
        corpus: PassageSource,
        passed_keys: Container[str] = (),
        *,
        again: Sequence[SeedPlace] = (),
        tried: Collection[str] = (),
    ) -> None:
        from pipeline.run import given_questions

        self._config, self._run = config, RunIdentity(config.digest(), corpus.fingerprint)
        self._corpus, self._passed_keys = corpus, passed_keys
        self.again, self._tried = tuple(again), frozenset(tried)
        self._given_questions = given_questions.load_given(config)
        self._ordinals = array("Q")
        """The position of each seed in the unfiltered order. A seed holds its passage, and millions of them would fill
        the memory, so only the latest seeds are cached."""
        self._planned = lru_cache(maxsize=MOST_SEEDS)(self._build_planned)
        self._drops: list[tuple[int, str]] = []
        self._ordinal_stream = self._generate()

    def __getitem__(self, index: int) -> Planned:
        while len(self._ordinals) <= index:
            self._ordinals.append(next(self._ordinal_stream))
        return self._planned(self._ordinals[index])

    def count_dropped(self, before: int) -> Counter[str]:
        return Counter(reason for index, reason in self._drops if index < before)

    def at(self, order: str) -> Planned:
        if order.startswith(AGAIN):
            return self._build_planned(int(order.removeprefix(AGAIN)))
        draw, place = map(int, order.split("-"))
        return self._build_planned(len(self.again) + draw * self._size + place)

    @property
    def _size(self) -> int:
        return len(self._given_questions or self._corpus.passages)

    def _generate(self) -> Iterator[int]:
        yield from range(len(self.again))
        again_keys = {self._run.key(place.passage_id, place.draw) for place in self.again}
        for ordinal in count(len(self.again)):
            seed = self._planned(ordinal).seed
            # A seed that runs again on a changed text is not among the tried ones.
            if seed.key in again_keys or (self._tried and fingerprint_seed(seed) in self._tried):
                continue
            # Users want exactly the questions that they bring, so the filter skips these.
            if (
                not self._given_questions
                and seed.key not in self._passed_keys
                and (reason := quality(seed.passage, self._corpus.language))
            ):
                self._drops.append((len(self._ordinals), reason))
            else:
                yield ordinal

    def _build_planned(self, ordinal: int) -> Planned:
        if ordinal < len(self.again):
            passage, draw = self._corpus.passage(self.again[ordinal].passage_id), self.again[ordinal].draw
            assert passage  # noqa: S101 - `refresh` has looked it up
            return Planned(self._seed(self._run.key(passage.id, draw), passage, draw), f"{AGAIN}{ordinal:012}")
        draw, place = divmod(ordinal - len(self.again), self._size)
        shuffle = sha256(f"{self._config.seed}\n{self._corpus.fingerprint}\n{draw}")
        index = permute(place, self._size, shuffle)
        passage = self._given_questions[index].passage if self._given_questions else self._corpus.in_order_of_ids(index)
        key = self._run.key(passage.id, draw)
        return Planned(self._seed(key, passage, draw), f"{draw:06}-{place:012}")

    def _seed(self, key: str, passage: Passage, draw: int) -> Seed:
        """Build a seed. Its target depends only on passage, draw and aims.

        So runs that differ in another setting, or in a prompt, can be compared seed by seed.
        """
        chance = f"{self._config.seed}\n{passage.id}\n{draw}"
        return Seed(
            key=key,
            passage=passage,
            draw=draw,
            side=side(passage.document_id),
            target_steps=draw_weighted(self._config.aims, _chance(chance, "target")),
        )


def draw_weighted(weights: Mapping[int, int], chance: int) -> int:
    """Return one of the keys with a probability in proportion to its weight. `chance` is a large random number."""
    keys = [key for key in sorted(weights) for _ in range(weights[key])]
    return keys[chance % len(keys)]


def _chance(text: str, name: str) -> int:
    return int(sha256(f"{text}\n{name}")[:16], 16)


def check_askable(corpus: PassageSource) -> None:
    """Raise UsageError if no passage can be a seed."""
    drops: Counter[str] = Counter()
    for passage in corpus.passages:
        reason = quality(passage, corpus.language)
        if reason is None:
            return
        drops[reason] += 1
    reasons = explain_refusals(drops) or "there are none"
    raise UsageError(f"no passage of this corpus can start a question. {reasons}")


def bounds(runtime: Runtime) -> tuple[int | None, int]:
    """Return the number of wanted pairs, or None if `seeds` decides, and the most seeds to try.

    Both include the carried pairs.
    """
    carried = runtime.carried
    if runtime.seeds is not None:
        return None, carried + runtime.seeds
    new_pairs = max(0, runtime.pairs - carried) if runtime.new_pairs is None else runtime.new_pairs
    pairs = runtime.pairs if runtime.new_pairs is None else carried + new_pairs
    return pairs, carried + (runtime.max_seeds if runtime.max_seeds is not None else SEEDS_PER_PAIR * max(1, new_pairs))


def prefix(heads: Iterable[Head], config: RunConfig, judge: Judge) -> Iterator[tuple[Head, Drop | None]]:
    """Yield the part of a journal that is in the plan, in its order; the remaining lines are surplus.

    This is the plan of a finished run, and the plan so far of an interrupted one.
    """
    state = PlanState(config, judge)
    for index, head in enumerate(sorted(heads, key=lambda head: head.order)):
        if state.complete:
            return
        drops = state.end(index, head)
        yield head, drops[0][1] if drops else None


def judge_records(
    journal: Journal,
    config: RunConfig,
    include: tuple[str, ...] = (),
    joined: Callable[[Record], Record] = lambda record: record,
) -> Iterator[tuple[Record, Drop | None]]:
    """Yield the records of the plan so far, in its order, one at a time in memory.

    A record that the gates drop becomes rejected, with `gate:` and the gate's name as its reason. Rejected records with
    a reason in `include` come last: they must pass the gates too, but must not take a pair's place. They keep their
    reason, since they were no pairs before. `joined` adds later findings to a record.
    """
    gates, accepted, included = Gates(config.gates), dict[str, Record](), list[str]()

    def read(key: str) -> Record:
        return joined(journal.read(key))

    def judge(head: Head) -> Drop | None:
        accepted[head.key] = record = read(head.key)
        return gates.admit(gates.check(record))

    for head, drop in prefix(journal.heads(), config, judge):
        if head.reason in include:
            included.append(head.key)
            continue
        record = accepted.pop(head.key, None) or read(head.key)
        yield mark_dropped(record, drop) if drop else record, drop
    for record in map(read, included):
        # An unsolved record is in no view, so it must not keep another one out as its duplicate.
        yield record, gates.admit(gates.check(record)) if record.is_solved else None


class PlanState:
    """What the plan still needs, given how seeds have ended. Seeds are named by their index in the order."""

    def __init__(self, config: RunConfig, judge: Judge) -> None:
        self._wanted_pairs, self._max_seeds = bounds(config.runtime)
        is_limited = config.runtime.seeds is not None or config.runtime.max_seeds is not None
        self._may_yield_nothing = not config.models.of("generator").capabilities.understands and not is_limited
        self._judge, self._chainless = judge, 0
        self._ahead: dict[int, Head] = {}
        self.passed = 0
        """The number of pairs among the seeds before `length`."""
        self.length = 0
        """All seeds before this index have ended, have been judged, and belong to the plan."""

    def end(self, index: int, head: Head) -> list[tuple[Head, Drop]]:
        """Take in a seed that has ended. Return what the gates drop now that all earlier seeds have ended."""
        drops = []
        if index >= self.length:
            self._ahead[index] = head
        while not self.complete and self.length in self._ahead:
            head = self._ahead.pop(self.length)
            if head.status is Status.ACCEPTED:
                if drop := self._judge(head):
                    drops.append((head, drop))
                self.passed += drop is None
            self._chainless += head.parsed_reason.code in (ReasonCode.NO_DRAFT, Cause.SUPERFICIAL)
            self.length += 1
        return drops

    @property
    def complete(self) -> bool:
        # If the first seeds gave no chain of hops, these texts will give none.
        no_yield = self._may_yield_nothing and self.length == self._chainless == NO_YIELD
        return no_yield or self.passed == self._wanted_pairs or self.length >= self._max_seeds

    @property
    def exhausted(self) -> bool:
        return self.complete and self._wanted_pairs is not None and self.passed < self._wanted_pairs

    def max_in_flight(self) -> int:
        """Return how many seeds are worth running at once: those that the missing pairs need at the yield so far.

        Every seed beyond the plan is paid for and set aside. The limit changes when a seed begins, never which seeds
        the plan holds.
        """
        if self._wanted_pairs is None:
            return self._max_seeds
        accepted = self.passed + sum(head.status is Status.ACCEPTED for head in self._ahead.values())
        ended = self.length + len(self._ahead)
        missing = max(0, self._wanted_pairs - accepted)
        return max(FEWEST_AT_WORK, math.ceil(missing * (ended + 2) / (accepted + 1)))

    def next_needed(self) -> int:
        """Return the index from which no seed is needed if the gates pass all accepted seeds, which they may not."""
        if self.complete or self._wanted_pairs is None:
            return self.length if self.complete else self._max_seeds
        passed = self.passed
        for index in sorted(self._ahead):
            passed += self._ahead[index].status is Status.ACCEPTED
            if passed == self._wanted_pairs:
                return min(index + 1, self._max_seeds)
        return self._max_seeds


_ROUNDS = 8


def permute(place: int, size: int, key: str) -> int:
    """Return the number below `size` at this place of the permutation that the key selects.

    This is a Feistel network over the smallest even number of bits that holds all numbers. Results of `size` or more go
    in again, fewer than four times on average.
    """
    half = max(1, ((size - 1).bit_length() + 1) // 2)
    mask = (1 << half) - 1
    while True:
        left, right = place >> half, place & mask
        for round_index in range(_ROUNDS):
            mixed = hashlib.sha256(f"{key}\n{round_index}\n{right}".encode()).digest()
            left, right = right, left ^ (int.from_bytes(mixed[:8], "little") & mask)
        place = left << half | right
        if place < size:
            return place
