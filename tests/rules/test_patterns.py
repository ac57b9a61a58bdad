"""No regular expression of the product takes more than linear time, whatever text it is given."""

import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.rules.hostile_texts import Recipe, recipes
from tests.rules.patterns import METHODS, PatternUse, all_patterns

HANDED_IN = (
    "pipeline/types/data.py",
    "pipeline/run/repeated_error.py",
    "pipeline/store/amendments.py",
    "pipeline/loop/hidden_answers.py",
)
"""Files whose pattern comes from elsewhere or is made of bytes; these few were read by a person."""
QUICK = 2e-6
"""Seconds for a character; a pattern that takes less is linear or never slow."""
MEASURED = 0.03
"""Seconds that are long enough to be compared in the full form; a third of it is enough for the quick one."""
SLOW = 8
"""Growth on four times the text above which a pattern is slow: halfway between linear and quadratic."""


class _Endless(Exception):
    pass


@contextmanager
def at_most(limit: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _Endless

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, limit)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)


def seconds(pattern: re.Pattern[Any], method: str, text: Any) -> float:
    start = time.process_time()
    if method == "finditer":
        for _ in pattern.finditer(text):
            pass
    else:
        getattr(pattern, method)(text)
    return time.process_time() - start


def growth(pattern: re.Pattern[Any], method: str, recipe: Recipe, length: int, least: float) -> float:
    """Return how many times longer a text of four times the length takes: 4 if the time is linear, 16 if it is
    quadratic.

    The shorter text takes at least `least` seconds. A second measurement is made only if it can change the result.
    """

    def measure(length: int, enough: float) -> float:
        text = recipe.text(length, type(pattern.pattern))
        first = seconds(pattern, method, text)
        return first if first < enough else min(first, seconds(pattern, method, text))

    while (short := measure(length, least)) < least:
        if length > 100_000:
            return 1.0
        length *= 2
    return measure(4 * length, SLOW * short) / short


def faults(
    use: PatternUse,
    *,
    samples: int,
    confirmed: int,
    length: int = 1000,
    limit: float = 20.0,
    least: float = MEASURED / 3,
) -> list[str]:
    """Return the texts on which a pattern is slow. The growth is measured for the slowest few of them alone."""
    pattern, at = use.pattern, "compiled"
    try:
        with at_most(limit):
            times = []
            for recipe in recipes(pattern, samples):
                text = recipe.text(length, type(pattern.pattern))
                for method in sorted(use.methods):
                    at = f"{method}, {recipe}"
                    times.append((seconds(pattern, method, text) / len(text), method, recipe))
            slow = []
            for _, method, recipe in [one for one in sorted(times, reverse=True)[:confirmed] if one[0] > QUICK]:
                at = f"{method}, {recipe}"
                # Other processes may disturb a measurement, so that a slow pattern is measured again, and for longer.
                if all(
                    (factor := growth(pattern, method, recipe, length, at_least)) > SLOW
                    for at_least in (least, MEASURED, MEASURED)
                ):
                    slow.append(f"{use.place}: {at}: x{factor:.0f} on 4 times the text")
            return slow
    except _Endless:
        return [f"{use.place}: {at}: no end"]


def test_no_pattern_takes_more_than_linear_time() -> None:
    uses, unread = all_patterns()
    assert len(uses) > 400
    assert [place for place in unread if not place.startswith(HANDED_IN)] == []
    assert [line for use in uses for line in faults(use, samples=4, confirmed=1)] == []


@pytest.mark.slow
def test_no_pattern_takes_more_than_linear_time_on_many_texts() -> None:
    assert [line for use in all_patterns()[0] for line in faults(use, samples=100, confirmed=8, least=MEASURED)] == []


@pytest.mark.parametrize(
    ("pattern", "method", "limit"),
    [
        (rb"\s*(?::[^\n]*\s+)*(?:data|event|id|retry):", "match", 1.0),
        (r"[。！？…]+[\"']*(?=\s*[字]|\s*$)", "finditer", 20.0),
        (r"\s*\[[^\[\]]*\]", "finditer", 20.0),
        (r"(\d*\.?\d+)-(\d*\.?\d+)", "fullmatch", 20.0),
        (r"([\w.-]+)\s+Smith", "finditer", 20.0),
        (r"(a|a)*b", "match", 1.0),
    ],
)
def test_a_slow_pattern_is_found(pattern: str | bytes, method: str, limit: float) -> None:
    """The time of the two with the short limit grows so fast that no match comes to an end."""
    use = PatternUse("here", re.compile(pattern), frozenset({method}))
    # Another process may disturb one measurement.
    assert any(faults(use, samples=4, confirmed=1, limit=limit) for _ in range(3))


def test_a_linear_pattern_is_not_found() -> None:
    for pattern in (r"\w+(?:['’]\w+)*", r"(?<!\s)\s*+\[[^\[\]]*+\]", r"a.{0,300}b"):
        assert faults(PatternUse("here", re.compile(pattern), METHODS & {"finditer"}), samples=9, confirmed=3) == []
