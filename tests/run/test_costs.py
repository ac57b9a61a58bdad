"""The cost of each seed of a pilot is added up from its attempts, including interrupted ones and replays."""

from pipeline.llm.ledger import Spending, Spent
from pipeline.run.attempts import Attempt
from pipeline.run.seed_costs import seed_costs
from pipeline.types import Record, Usage
from tests.records import accepted, rejected


def make_usage(tokens: int) -> Usage:
    return Usage(calls=1, prompt_tokens=10 * tokens, completion_tokens=tokens)


def make_attempt(record: Record, ended: str = "", **spent: Usage) -> Attempt:
    return Attempt(
        key=record.key,
        ended=ended or record.status,
        reason="",
        began="2026-01-02T00:00:00.000+00:00",
        seconds=1,
        spent=Spending(by_stage={"round 0": {"answer": Spent(**spent)}}, by_model={"m": Spent(**spent)}),
    )


GOOD, BAD, OTHER = accepted(0), rejected(), accepted(9)


def test_an_interrupted_attempt_is_counted_once() -> None:
    rows = [
        make_attempt(GOOD, "ProviderError", paid=make_usage(100)),
        make_attempt(GOOD, paid=make_usage(40), cached=make_usage(100)),
        make_attempt(GOOD, "completed", paid=make_usage(7)),
        make_attempt(GOOD, "remeasured", paid=make_usage(1000)),
    ]
    (seed,) = seed_costs(rows, [GOOD])
    assert seed.usage == {"m": make_usage(100) + make_usage(40) + make_usage(7)}


def test_cached_answers_count_once() -> None:
    half = seed_costs([make_attempt(GOOD, paid=make_usage(50), cached=make_usage(50))], [GOOD])
    again = seed_costs(
        [make_attempt(GOOD, paid=make_usage(50), cached=make_usage(50), repeated=make_usage(50))], [GOOD]
    )
    replayed = seed_costs([make_attempt(GOOD, cached=make_usage(100))], [GOOD])
    assert [seeds[0].usage["m"].completion_tokens for seeds in (half, again, replayed)] == [100, 50, 100]


def test_work_beyond_the_plan_is_left_out() -> None:
    rows = [
        make_attempt(GOOD, paid=make_usage(100)),
        make_attempt(BAD, paid=make_usage(50)),
        make_attempt(OTHER, paid=make_usage(1)),
    ]
    costs = seed_costs(rows, [GOOD, BAD])
    assert [(seed.accepted, seed.usage) for seed in costs] == [
        (True, {"m": make_usage(100)}),
        (False, {"m": make_usage(50)}),
    ]
