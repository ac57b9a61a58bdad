"""Quotas and the window of solve rates keep what the settings name, and no more."""

import pytest

from pipeline.errors import UsageError
from pipeline.gates import Gates
from tests.gates.test_gates import judged, only
from tests.records import accepted, accepted_with_one_hop


def test_a_quota_keeps_a_share_and_a_floor() -> None:
    records = [accepted_with_one_hop(n) if n % 2 else accepted(n) for n in range(60)]
    found = judged(records, only("quota", quotas={"hops": {"1": 0.25}}))
    passed = [n for n, drop in enumerate(found) if not drop]
    assert sum(n % 2 for n in passed) == 10
    assert sum(n % 2 == 0 for n in passed) == 30


def test_pairs_are_balanced_by_what_they_ask_of_who_answers() -> None:
    records = [accepted_with_one_hop(n) if n % 2 else accepted(n) for n in range(60)]
    found = judged(records, only("quota", quotas={"reasoning": {"bridge": 0.25}}))
    assert [n % 2 for n, drop in enumerate(found) if not drop].count(0) == 10


@pytest.mark.parametrize(
    "trait", ["target", "difficulty", "steps", "operation", "answer_type", "reasoning", "hops", "strategy", "domain"]
)
def test_a_star_stands_for_every_value(trait: str) -> None:
    found = judged([accepted(n) for n in range(20)], only("quota", quotas={trait: {"*": 0.1}}, least=3))
    assert found == [""] * 3 + ["quota"] * 17


def test_a_share_of_nothing_lets_nothing_through() -> None:
    assert judged([accepted()], only("quota", quotas={"target": {"3": 0.0}})) == ["quota"]


def test_the_window_of_solve_rates_holds_its_ends() -> None:
    """Three in four of the fresh rollouts were correct."""
    assert accepted().solve_rate == 0.75
    for window, drop in {(0.0, 1.0): "", (0.75, 0.75): "", (0.0, 0.5): "solve_rate", (0.8, 1.0): "solve_rate"}.items():
        assert judged([accepted()], only("solve_rate", solve_rate=window)) == [drop]


@pytest.mark.parametrize(
    ("gate", "settings", "told"),
    [
        ("quota", {"quotas": {"answer_type": {"dates": 0.1}}}, "no 'dates'; known: entity, date, number"),
        ("quota", {"quotas": {"reasoning": {"bridges": 0.1}}}, "no 'bridges'; known: negation, aggregation"),
        ("quota", {"quotas": {"colour": {"red": 0.1}}}, "no trait for gates.quotas 'colour'"),
    ],
)
def test_limits_that_could_not_be_meant_are_a_mistake(gate: str, settings: dict[str, object], told: str) -> None:
    with pytest.raises(UsageError, match=told):
        Gates(only(gate, **settings))
