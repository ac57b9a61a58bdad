"""Quotas and the window of solve rates keep the shares that the settings name."""

import pytest

from pipeline.errors import UsageError
from pipeline.gates import Gates
from tests.gates.pairs import enable_only, run_gates
from tests.records import accepted, accepted_with_one_hop


def test_a_quota_keeps_a_share_and_a_floor() -> None:
    records = [accepted_with_one_hop(n) if n % 2 else accepted(n) for n in range(60)]
    drops = run_gates(records, enable_only("quota", quotas={"hops": {"1": 0.25}}))
    passed = [n for n, drop in enumerate(drops) if not drop]
    assert sum(n % 2 for n in passed) == 10
    assert sum(n % 2 == 0 for n in passed) == 30


def test_pairs_can_be_balanced_by_their_kind_of_reasoning() -> None:
    records = [accepted_with_one_hop(n) if n % 2 else accepted(n) for n in range(60)]
    drops = run_gates(records, enable_only("quota", quotas={"reasoning": {"bridge": 0.25}}))
    assert [n % 2 for n, drop in enumerate(drops) if not drop].count(0) == 10


@pytest.mark.parametrize(
    "trait", ["target", "difficulty", "steps", "operation", "answer_type", "reasoning", "hops", "strategy", "domain"]
)
def test_a_star_stands_for_every_value(trait: str) -> None:
    drops = run_gates([accepted(n) for n in range(20)], enable_only("quota", quotas={trait: {"*": 0.1}}, least=3))
    assert drops == [""] * 3 + ["quota"] * 17


def test_a_share_of_zero_drops_every_pair() -> None:
    assert run_gates([accepted()], enable_only("quota", quotas={"target": {"3": 0.0}})) == ["quota"]


def test_the_window_of_solve_rates_includes_its_ends() -> None:
    assert accepted().solve_rate == 0.75
    for window, drop in {(0.0, 1.0): "", (0.75, 0.75): "", (0.0, 0.5): "solve_rate", (0.8, 1.0): "solve_rate"}.items():
        assert run_gates([accepted()], enable_only("solve_rate", solve_rate=window)) == [drop]


@pytest.mark.parametrize(
    ("gate", "settings", "message"),
    [
        ("quota", {"quotas": {"answer_type": {"dates": 0.1}}}, "no 'dates'; known: entity, date, number"),
        ("quota", {"quotas": {"reasoning": {"bridges": 0.1}}}, "no 'bridges'; known: negation, aggregation"),
        ("quota", {"quotas": {"colour": {"red": 0.1}}}, "no trait for gates.quotas 'colour'"),
    ],
)
def test_limits_with_unknown_values_are_a_usage_error(gate: str, settings: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        Gates(enable_only(gate, **settings))
