"""The page on scale shows what its script reckons, and the pool's figures say what servers saw."""

from pathlib import Path

import pytest

from bench import pool, scale
from bench.loaded import DECODE, PREFILL, Load

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"


def test_the_page_shows_the_table() -> None:
    assert scale.format_forecast(scale.parser().parse_args([])) in PAGE.read_text(encoding="utf-8")


def test_seconds_in_flight_are_those_between_two_moments() -> None:
    assert pool.in_flight([0.0, 4.0, 9.0], [2.0, 6.0, 12.0], since=1.0, until=10.0) == pytest.approx(1 + 2 + 1)


def test_a_loaded_server_is_slower_the_more_it_has_and_quicker_with_what_it_knows() -> None:
    load = Load(latency=2.0, limit=4)
    body = {"messages": [{"role": "system", "content": "a" * 50}, {"role": "user", "content": "b" * 50}]}
    new, known = load.met(body, 1000, busy=0), load.met(body, 1000, busy=4)
    assert (new[0], known[0]) == (0, 1000)
    assert (new[1], known[1]) == pytest.approx((2.0 * (PREFILL + DECODE), 2.0 * 2 * DECODE))
    assert load.share == pytest.approx(0.5)
