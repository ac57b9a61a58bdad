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
"""Seconds that are long enough to be compared."""


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


def growth(pattern: re.Pattern[Any], method: str, recipe: Recipe, length: int) -> float:
    """Return how many times longer a text of four times the length takes: 4 if the time is linear, 16 if it is
    quadratic."""

    def measure(length: int) -> float:
        text = recipe.text(length, type(pattern.pattern))
        return min(seconds(pattern, method, text) for _ in range(2))

    while (short := measure(length)) < MEASURED:
        if length > 100_000:
            return 1.0
        length *= 2
    return measure(4 * length) / short


def faults(use: PatternUse, *, samples: int, confirmed: int, length: int = 1000, limit: float = 20.0) -> list[str]:
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
                if (factor := min(growth(pattern, method, recipe, length) for _ in range(2))) > 8:
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
    assert [line for use in all_patterns()[0] for line in faults(use, samples=100, confirmed=8)] == []


@pytest.mark.parametrize(
    ("pattern", "method"),
    [
        (rb"\s*(?::[^\n]*\s+)*(?:data|event|id|retry):", "match"),
        (r"[。！？…]+[\"']*(?=\s*[字]|\s*$)", "finditer"),
        (r"\s*\[[^\[\]]*\]", "finditer"),
        (r"(\d*\.?\d+)-(\d*\.?\d+)", "fullmatch"),
        (r"([\w.-]+)\s+Smith", "finditer"),
        (r"(a|a)*b", "match"),
    ],
)
def test_a_slow_pattern_is_found(pattern: str | bytes, method: str) -> None:
    use = PatternUse("here", re.compile(pattern), frozenset({method}))
    # Another process may disturb one measurement.
    assert any(faults(use, samples=4, confirmed=1, limit=3.0) for _ in range(3))


def test_a_linear_pattern_is_not_found() -> None:
    for pattern in (r"\w+(?:['’]\w+)*", r"(?<!\s)\s*+\[[^\[\]]*+\]", r"a.{0,300}b"):
        assert faults(PatternUse("here", re.compile(pattern), METHODS & {"finditer"}), samples=9, confirmed=3) == []
