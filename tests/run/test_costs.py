"""What each seed of a pilot took, from its attempts: interrupted ones, replays and work beyond the plan included."""

from datetime import UTC, datetime, timedelta

import pytest

from pipeline.llm.ledger import Spending, Spent
from pipeline.run import costs
from pipeline.run.attempts import Attempt
from pipeline.types import Record, Usage
from tests.records import accepted, rejected

START = datetime(2026, 1, 2, tzinfo=UTC)


def used(tokens: int) -> Usage:
    return Usage(calls=1, prompt_tokens=10 * tokens, completion_tokens=tokens)


def tried(record: Record, began: float, seconds: float, ended: str = "", **spent: Usage) -> Attempt:
    return Attempt(
        key=record.key,
        ended=ended or record.status,
        reason="",
        began=(START + timedelta(seconds=began)).isoformat(timespec="milliseconds"),
        seconds=seconds,
        spent=Spending(by_stage={"round 0": {"answer": Spent(**spent)}}, by_model={"m": Spent(**spent)}),
    )


GOOD, BAD = accepted(0), rejected()


def test_the_clock_is_shared_by_the_seeds_that_were_at_work_together() -> None:
    rows = [tried(GOOD, 0, 30, paid=used(100)), tried(BAD, 10, 10, paid=used(50))]
    found = costs.pilot(rows, [GOOD, BAD])
    assert found.at_work == pytest.approx(40 / 30)
    assert [seed.seconds for seed in found.seeds] == [pytest.approx(22.5), pytest.approx(7.5)]
    assert [seed.accepted for seed in found.seeds] == [True, False]
    assert [seed.usage for seed in found.seeds] == [{"m": used(100)}, {"m": used(50)}]


def test_time_between_two_commands_does_not_count() -> None:
    rows = [tried(GOOD, 0, 30, paid=used(1)), tried(BAD, 100_000, 10, paid=used(1))]
    found = costs.pilot(rows, [GOOD, BAD])
    assert sum(seed.seconds or 0 for seed in found.seeds) == pytest.approx(40)


def test_an_interrupted_attempt_costs_time_and_its_answers_are_counted_once() -> None:
    rows = [
        tried(GOOD, 0, 20, "ProviderError", paid=used(100)),
        tried(GOOD, 20, 10, paid=used(40), cached=used(100)),
        tried(GOOD, 30, 5, "completed", paid=used(7)),
        tried(GOOD, 90, 50, "remeasured", paid=used(1000)),
    ]
    (seed,) = costs.pilot(rows, [GOOD]).seeds
    assert seed.usage == {"m": used(100) + used(40) + used(7)}
    assert seed.seconds == pytest.approx(35)


def test_what_digsites_cache_answered_is_counted_and_its_time_made_up_or_unknown() -> None:
    half = costs.pilot([tried(GOOD, 0, 10, paid=used(50), cached=used(50))], [GOOD])
    again = costs.pilot([tried(GOOD, 0, 10, paid=used(50), cached=used(50), repeated=used(50))], [GOOD])
    replayed = costs.pilot([tried(GOOD, 0, 0.1, cached=used(100))], [GOOD])
    found = [pilot.seeds[0] for pilot in (half, again, replayed)]
    assert [seed.usage["m"].completion_tokens for seed in found] == [100, 50, 100]
    assert [seed.seconds and round(seed.seconds, 3) for seed in found] == [20, 10, None]


def test_work_beyond_the_plan_takes_part_in_the_clock_alone() -> None:
    rows = [tried(GOOD, 0, 30, paid=used(100)), tried(BAD, 0, 30, paid=used(50))]
    found = costs.pilot(rows, [GOOD])
    assert [seed.seconds for seed in found.seeds] == [pytest.approx(15)]
