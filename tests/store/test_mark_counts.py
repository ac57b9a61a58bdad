"""Marks are counted as a dictionary counts them, in a fifth of its memory."""

import random
import tracemalloc
from collections import Counter
from copy import deepcopy

from pipeline.store.mark_counts import MarkCounts


def test_counts_match_those_of_a_counter() -> None:
    chance = random.Random(0)
    # Few enough low bits that many meet at one place, and more marks than the table begins with places for.
    marks = [chance.getrandbits(8) << 40 | chance.getrandbits(12) for _ in range(20_000)]
    counts, expected = MarkCounts(), Counter(marks)
    for mark in marks:
        counts.add(mark)
    assert {mark: counts[mark] for mark in expected} == expected
    assert not any(counts[mark] for mark in range(1 << 50, (1 << 50) + 1000))


def test_a_copy_is_independent() -> None:
    counts = MarkCounts()
    counts.add(7)
    copied = deepcopy(counts)
    copied.add(7)
    counts.add(9)
    assert (counts[7], counts[9], copied[7], copied[9]) == (1, 1, 2, 0)


def test_a_mark_takes_few_bytes() -> None:
    rng, size = random.Random(1), 50_000
    tracemalloc.start()
    counts = MarkCounts()
    for _ in range(size):
        counts.add(rng.getrandbits(64))
    traced_bytes, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert traced_bytes / size < 40
