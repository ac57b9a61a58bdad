"""What the progress line says is true, and says "–" where nothing is known."""

from pathlib import Path
from random import Random

import pytest

from pipeline.cli.progress import Progress, duration
from pipeline.errors import ProviderError
from pipeline.gates import Drop
from pipeline.llm.ledger import Spending, Spent
from pipeline.run import Attempt, Run
from pipeline.run.attempts import NAME
from pipeline.store.journal import Head
from pipeline.types import Record, Status
from tests import records
from tests.run import fakes

ACCEPTED, REJECTED = records.accepted(1), records.rejected(1)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def played(
    pattern: str, *, seconds: float = 1.0, pairs: int | None = 10, seeds: int | None = None
) -> tuple[Progress, Clock]:
    """Progress after one seed per letter, `a` accepted and `r` rejected, each taking `seconds`."""
    clock = Clock()
    progress = Progress(pairs=pairs, seeds=seeds, clock=clock)
    for letter in pattern:
        clock.now += seconds
        progress.record(ACCEPTED if letter == "a" else REJECTED)
    return progress, clock


def test_the_time_left_is_unknown_before_three_pairs_are_accepted() -> None:
    assert played("rrrararr")[0].seconds_left() is None
    assert played("rr")[0].line().endswith("elapsed 0:02, ETA –")


def test_the_time_left_follows_from_the_speed_of_accepting() -> None:
    progress, _ = played("rararara")  # one accepted per 2 s, 6 of 10 to go
    assert progress.seconds_left() == pytest.approx(12, rel=0.2)


def test_what_came_before_the_first_seed_does_not_count() -> None:
    clock = Clock()
    progress = Progress(pairs=10, clock=clock)
    clock.now = 100.0
    for _ in range(5):
        clock.now += 1
        progress.record(ACCEPTED)
    assert progress.seconds_left() == pytest.approx(5)


def test_a_changed_rate_counts_and_the_far_past_does_not() -> None:
    progress, clock = played("a" * 100, pairs=1000)
    for n in range(200):
        clock.now += 4
        progress.record(ACCEPTED if n % 2 == 0 else REJECTED)
    # One accepted per 8 s now, not the one per second of the start.
    assert progress.seconds_left() == pytest.approx((1000 - 200) * 8, rel=0.1)


def test_with_a_number_of_seeds_the_time_left_counts_seeds() -> None:
    progress, _ = played("rrrr", pairs=None, seeds=10)
    assert progress.seconds_left() == pytest.approx(6)


def test_a_pair_that_a_gate_dropped_is_not_counted() -> None:
    progress, _ = played("rararara")
    before = progress.seconds_left()
    head = Head(key="k", order="0", status=Status.ACCEPTED, reason="", target_steps=3)
    progress.drop(head, Drop("duplicate", "of another"))
    assert progress.accepted == 3
    assert (progress.seconds_left() or 0) > (before or 0)


def test_what_a_broken_try_took_is_paid_too() -> None:
    progress = Progress(pairs=1)
    for ended, money in (("ProviderError", 0.25), ("accepted", 0.5)):
        spent = Spending(by_stage={"round 0": {"propose": Spent(money=money)}})
        progress.attempt(Attempt(key="k", ended=ended, reason="", began="", seconds=1, spent=spent))
    assert "cost 0.75" in progress.line()


def test_what_earlier_commands_paid_counts(tmp_path: Path) -> None:
    paid = Spending(by_stage={"round 0": {"propose": Spent(money=1.5)}})
    earlier = Attempt(key="k", ended="BudgetExceeded", reason="", began="", seconds=1, spent=paid)
    with Run(fakes.config(tmp_path), fakes.corpus()) as run:
        (run.folder / NAME).write_text(earlier.model_dump_json() + "\n")
        progress = Progress(pairs=1)
        progress.begin(run)
    assert "cost 1.50" in progress.line()


def test_the_range_of_the_time_left_narrows_with_what_was_seen() -> None:
    few, many = played("a" * 5, pairs=400)[0], played("a" * 200, pairs=400)[0]
    ranges = [progress.range_left() for progress in (few, many)]
    for progress, found in zip((few, many), ranges, strict=True):
        assert found
        assert found[0] < (progress.seconds_left() or 0) < found[1]
    widths = [high / low for low, high in filter(None, ranges)]
    assert widths[0] > 2 * widths[1]
    assert "ETA 2:" in many.line()
    assert " to " in many.line()


def test_the_true_time_is_within_the_range_in_most_runs() -> None:
    """Seeds of one second, of which any is accepted by a chance of one in four."""
    within = 0
    for trial in range(200):
        chance = Random(trial)
        seconds = [index for index in range(4000) if chance.random() < 0.25][:100]
        clock = Clock()
        progress = Progress(pairs=100, clock=clock)
        for index in range(seconds[19] + 1):
            clock.now += 1
            progress.record(ACCEPTED if index in seconds else REJECTED)
        low, high = progress.range_left() or (0, 0)
        within += low <= seconds[-1] - seconds[19] <= high
    assert within >= 170


@pytest.mark.parametrize("width", [60, 80, 120, 240])
def test_the_live_line_fits_the_screen_or_is_the_shortest_there_is(width: int) -> None:
    progress, _ = played("rararararr", pairs=1000)
    line = progress.live_line(width)
    assert len(line) < max(width, 75)
    assert "10 seeds, 4/1,000 accepted (40%)" in line or width < 100
    assert ("not accepted: superficial 6" in line) is (width > 200)


def test_the_same_trouble_is_told_once_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(pairs=1)
    for n in range(50):
        progress.trouble(records.accepted(n).seed, ProviderError("http://x cannot be reached"), 5)
    progress.trouble(records.accepted(1).seed, ProviderError("another"), 5)
    assert capsys.readouterr().err.count("\n") == 2


def test_nothing_is_left_when_all_is_there() -> None:
    assert played("aaa", pairs=3)[0].seconds_left() == 0


class _Earlier:
    """A run that an earlier command left."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def records(self) -> list[Record]:
        return [ACCEPTED] * 5


def test_seeds_of_an_earlier_session_say_nothing_of_the_speed(tmp_path: Path) -> None:
    clock = Clock()
    progress = Progress(pairs=10, clock=clock)
    progress.begin(_Earlier(tmp_path))  # type: ignore[arg-type]
    assert (progress.accepted, progress.seconds_left()) == (5, None)
    for _ in range(3):
        clock.now += 2
        progress.record(ACCEPTED)
    assert progress.seconds_left() == pytest.approx(4)


def test_the_line_counts_seeds_pairs_targets_and_calls() -> None:
    line = played("aar")[0].line()
    assert "3 seeds" in line
    assert "2/10 accepted (67%)" in line
    assert "3:2" in line
    assert " tokens, cost 0.00, " in line


@pytest.mark.parametrize(("seconds", "said"), [(None, "–"), (0, "0:00"), (65, "1:05"), (3725.4, "1:02:05")])
def test_duration(seconds: float | None, said: str) -> None:
    assert duration(seconds) == said


def test_pairs_beyond_those_wanted_are_surplus() -> None:
    progress, _ = played("arraaa", pairs=3)
    assert "6 seeds, 3/3 + 1 surplus accepted (67%)" in progress.line()


def test_after_twenty_seeds_it_says_what_each_aim_gave_and_what_the_others_will_take(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress, _ = played("arrr" * 5)
    line = progress.first_look()
    assert line.startswith("after 20 seeds: aim 3 gave 5 of 20 seeds; the remaining 5 pairs will take about ")
    assert line.split(" pairs of")[0] in " ".join(capsys.readouterr().err.split())
    assert "remaining" not in played("r" * 20)[0].first_look()
