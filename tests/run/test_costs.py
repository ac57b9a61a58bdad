"""What each seed of a pilot took, from its attempts: interrupted ones, replays and work beyond the plan included."""

from pipeline.llm.ledger import Spending, Spent
from pipeline.run.attempts import Attempt
from pipeline.run.seed_costs import seed_costs
from pipeline.types import Record, Usage
from tests.records import accepted, rejected


def used(tokens: int) -> Usage:
    return Usage(calls=1, prompt_tokens=10 * tokens, completion_tokens=tokens)


def tried(record: Record, ended: str = "", **spent: Usage) -> Attempt:
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
        tried(GOOD, "ProviderError", paid=used(100)),
        tried(GOOD, paid=used(40), cached=used(100)),
        tried(GOOD, "completed", paid=used(7)),
        tried(GOOD, "remeasured", paid=used(1000)),
    ]
    (seed,) = seed_costs(rows, [GOOD])
    assert seed.usage == {"m": used(100) + used(40) + used(7)}


def test_what_digsites_cache_answered_is_counted_but_no_answer_that_was_asked_for_twice() -> None:
    half = seed_costs([tried(GOOD, paid=used(50), cached=used(50))], [GOOD])
    again = seed_costs([tried(GOOD, paid=used(50), cached=used(50), repeated=used(50))], [GOOD])
    replayed = seed_costs([tried(GOOD, cached=used(100))], [GOOD])
    assert [seeds[0].usage["m"].completion_tokens for seeds in (half, again, replayed)] == [100, 50, 100]


def test_work_beyond_the_plan_is_left_out() -> None:
    rows = [tried(GOOD, paid=used(100)), tried(BAD, paid=used(50)), tried(OTHER, paid=used(1))]
    found = seed_costs(rows, [GOOD, BAD])
    assert [(seed.accepted, seed.usage) for seed in found] == [(True, {"m": used(100)}), (False, {"m": used(50)})]
