"""What the progress line says is true, and says "–" where nothing is known."""

from itertools import count
from pathlib import Path

import pytest

from pipeline.cli.progress import Progress, ProgressCounts, duration
from pipeline.llm.ledger import Spending, Spent
from pipeline.run import Attempt, Run
from pipeline.run.attempts import NAME
from pipeline.types import Record
from tests import records
from tests.run import fakes


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def finished(accepted: bool, n: int) -> Record:
    return records.accepted(n) if accepted else records.rejected(n)


def played(
    pattern: str, *, seconds: float = 1.0, pairs: int | None = 10, seeds: int | None = None
) -> tuple[ProgressCounts, Clock]:
    """A tally after one seed per letter, `a` accepted and `r` rejected, each taking `seconds`."""
    clock = Clock()
    tally = ProgressCounts(pairs=pairs, seeds=seeds, clock=clock)
    for letter, n in zip(pattern, count()):
        clock.now += seconds
        tally.add(finished(letter == "a", n))
    return tally, clock


def test_the_time_left_is_unknown_before_three_pairs_are_accepted() -> None:
    assert played("rrrararr")[0].seconds_left() is None
    assert "– left" in played("rr")[0].line()


def test_the_time_left_follows_from_the_speed_of_accepting() -> None:
    tally, _ = played("arararar")  # 4 of 10 in 8 s: one per 2 s, 6 to go
    assert tally.seconds_left() == pytest.approx(12)


def test_what_came_before_the_first_seed_does_not_count() -> None:
    clock = Clock()
    tally = ProgressCounts(pairs=10, seeds=None, clock=clock)
    clock.now = tally.digging = 100.0
    for n in range(5):
        clock.now += 1
        tally.add(finished(True, n))
    assert tally.seconds_left() == pytest.approx(5)


def test_a_changed_rate_counts_and_the_far_past_does_not() -> None:
    tally, clock = played("a" * 100, pairs=1000)
    for n in range(60):
        clock.now += 4
        tally.add(finished(n % 2 == 0, 200 + n))
    # One accepted per 8 s now, not the one per second of the start.
    assert tally.seconds_left() == pytest.approx((1000 - 130) * 8, rel=0.1)


def test_with_a_number_of_seeds_the_time_left_counts_seeds() -> None:
    tally, _ = played("rrrr", pairs=None, seeds=10)
    assert tally.seconds_left() == pytest.approx(6)


def test_what_a_gate_dropped_says_nothing_of_the_speed() -> None:
    tally, _ = played("arararar")
    tally.gated(2, "gate:duplicate")
    assert tally.accepted == 3
    assert tally.seconds_left() == pytest.approx(7 * 8 / 3)


def test_what_a_broken_try_took_is_paid_too() -> None:
    progress = Progress(ProgressCounts(pairs=1, seeds=None))
    for ended, money in (("ProviderError", 0.25), ("accepted", 0.5)):
        spent = Spending(by_stage={"round 0": {"propose": Spent(money=money)}})
        progress.attempt(Attempt(key="k", ended=ended, reason="", began="", seconds=1, spent=spent))
    assert "cost 0.75" in progress.tally.line()


def test_what_earlier_commands_paid_counts(tmp_path: Path) -> None:
    paid = Spending(by_stage={"round 0": {"propose": Spent(money=1.5)}})
    earlier = Attempt(key="k", ended="BudgetExceeded", reason="", began="", seconds=1, spent=paid)
    with Run(fakes.config(tmp_path), fakes.corpus()) as run:
        (run.folder / NAME).write_text(earlier.model_dump_json() + "\n")
        progress = Progress(ProgressCounts(pairs=1, seeds=None))
        progress.started(run)
    assert "cost 1.50" in progress.tally.line()


def test_nothing_is_left_when_all_is_there() -> None:
    assert played("aaa", pairs=3)[0].seconds_left() == 0


def test_seeds_of_an_earlier_session_say_nothing_of_the_speed() -> None:
    tally = ProgressCounts(pairs=10, seeds=None, clock=Clock())
    for n in range(5):
        tally.add(finished(True, n), now=False)
    assert (tally.accepted, tally.seconds_left()) == (5, None)


def test_the_line_counts_seeds_pairs_targets_and_calls() -> None:
    line = played("aar")[0].line()
    assert "3 seeds" in line
    assert "2/10 accepted (67%)" in line
    assert "3:2" in line
    assert " calls" in line


@pytest.mark.parametrize(("seconds", "said"), [(None, "–"), (0, "0:00"), (65, "1:05"), (3725.4, "1:02:05")])
def test_duration(seconds: float | None, said: str) -> None:
    assert duration(seconds) == said
