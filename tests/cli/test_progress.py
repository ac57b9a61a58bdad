"""The progress line is right, and shows "–" for what is unknown."""

from pathlib import Path
from random import Random

import pytest

from pipeline.cli.progress import Progress, duration
from pipeline.config import RunConfig
from pipeline.config.runtime import Runtime
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


def play_seeds(
    pattern: str, *, seconds: float = 1.0, pairs: int | None = 10, seeds: int | None = None
) -> tuple[Progress, Clock]:
    """Return the progress after one seed per letter, `a` accepted and `r` rejected, each taking `seconds`."""
    clock = Clock()
    progress = Progress(pairs=pairs, seeds=seeds, clock=clock)
    for letter in pattern:
        clock.now += seconds
        progress.record(ACCEPTED if letter == "a" else REJECTED)
    return progress, clock


def test_the_time_left_is_unknown_before_three_pairs_are_accepted() -> None:
    assert play_seeds("rrrararr")[0].seconds_left() is None
    assert play_seeds("rr")[0].line().endswith("elapsed 0:02, ETA –")


def test_the_time_left_follows_from_the_speed_of_accepting() -> None:
    progress, _ = play_seeds("rararara")  # one accepted per 2 s, 6 of 10 to go
    assert progress.seconds_left() == pytest.approx(12, rel=0.2)


def test_time_before_the_first_seed_does_not_count() -> None:
    clock = Clock()
    progress = Progress(pairs=10, clock=clock)
    clock.now = 100.0
    for _ in range(5):
        clock.now += 1
        progress.record(ACCEPTED)
    assert progress.seconds_left() == pytest.approx(5)


def test_the_recent_rate_counts_and_the_far_past_does_not() -> None:
    progress, clock = play_seeds("a" * 100, pairs=1000)
    for n in range(200):
        clock.now += 4
        progress.record(ACCEPTED if n % 2 == 0 else REJECTED)
    # One accepted per 8 s now, not the one per second of the start.
    assert progress.seconds_left() == pytest.approx((1000 - 200) * 8, rel=0.1)


def test_with_a_number_of_seeds_the_time_left_counts_seeds() -> None:
    progress, _ = play_seeds("rrrr", pairs=None, seeds=10)
    assert progress.seconds_left() == pytest.approx(6)


def test_a_pair_that_a_gate_dropped_is_not_counted() -> None:
    progress, _ = play_seeds("rararara")
    before = progress.seconds_left()
    head = Head(key="k", order="0", status=Status.ACCEPTED, reason="", target_steps=3)
    progress.gated(head, Drop("duplicate", "of another"))
    assert progress.accepted == 3
    assert (progress.seconds_left() or 0) > (before or 0)


def test_broken_attempts_count_towards_the_cost() -> None:
    progress = Progress(pairs=1)
    for ended, money in (("ProviderError", 0.25), ("accepted", 0.5)):
        spent = Spending(by_stage={"round 0": {"propose": Spent(money=money)}})
        progress.attempt(Attempt(key="k", ended=ended, reason="", began="", seconds=1, spent=spent))
    assert "cost 0.75" in progress.line()


def test_the_cost_of_earlier_commands_counts(tmp_path: Path) -> None:
    paid = Spending(by_stage={"round 0": {"propose": Spent(money=1.5)}})
    earlier = Attempt(key="k", ended="BudgetExceeded", reason="", began="", seconds=1, spent=paid)
    with Run(fakes.config(tmp_path), fakes.corpus()) as run:
        (run.folder / NAME).write_text(earlier.model_dump_json() + "\n")
        progress = Progress(pairs=1)
        progress.started(run)
    assert "cost 1.50" in progress.line()


def test_the_range_of_the_time_left_narrows_with_more_seeds() -> None:
    few, many = play_seeds("a" * 5, pairs=400)[0], play_seeds("a" * 200, pairs=400)[0]
    ranges = [progress.range_left() for progress in (few, many)]
    for progress, time_range in zip((few, many), ranges, strict=True):
        assert time_range
        assert time_range[0] < (progress.seconds_left() or 0) < time_range[1]
    widths = [high / low for low, high in filter(None, ranges)]
    assert widths[0] > 2 * widths[1]
    assert "ETA 2:" in many.line()
    assert " to " in many.line()


@pytest.mark.slow
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
    progress, _ = play_seeds("rararararr", pairs=1000)
    line = progress.live_line(width)
    assert len(line) < max(width, 75)
    assert "10 seeds, 4/1,000 accepted (40%)" in line or width < 100
    assert ("not accepted: superficial 6" in line) is (width > 200)


def test_the_same_trouble_is_reported_once_a_minute(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(pairs=1)
    for n in range(50):
        progress.trouble(records.accepted(n).seed, ProviderError("http://x cannot be reached"), 5)
    progress.trouble(records.accepted(1).seed, ProviderError("another"), 5)
    assert capsys.readouterr().err.count("\n") == 2


def test_no_time_is_left_when_the_run_is_complete() -> None:
    assert play_seeds("aaa", pairs=3)[0].seconds_left() == 0


class _Earlier:
    """A run that an earlier command left."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.config = folder, RunConfig(runtime=Runtime(pairs=10))

    def records(self) -> list[Record]:
        return [ACCEPTED] * 5


def test_seeds_of_an_earlier_session_do_not_affect_the_speed(tmp_path: Path) -> None:
    clock = Clock()
    progress = Progress(pairs=10, clock=clock)
    progress.started(_Earlier(tmp_path))  # type: ignore[arg-type]
    assert (progress.accepted, progress.seconds_left()) == (5, None)
    for _ in range(3):
        clock.now += 2
        progress.record(ACCEPTED)
    assert progress.seconds_left() == pytest.approx(4)


def test_the_line_counts_seeds_pairs_targets_and_calls() -> None:
    line = play_seeds("aar")[0].line()
    assert "3 seeds" in line
    assert "2/10 accepted (67%)" in line
    assert "3:2" in line
    assert " tokens, cost 0.00, " in line


@pytest.mark.parametrize(("seconds", "text"), [(None, "–"), (0, "0:00"), (65, "1:05"), (3725.4, "1:02:05")])
def test_durations_are_formatted(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text


def test_pairs_beyond_those_wanted_are_surplus() -> None:
    progress, _ = play_seeds("arraaa", pairs=3)
    assert "6 seeds, 3/3 + 1 surplus accepted (67%)" in progress.line()


def test_after_twenty_seeds_the_yield_of_each_aim_is_shown(
    capsys: pytest.CaptureFixture[str],
) -> None:
    progress, _ = play_seeds("arrr" * 5)
    line = progress.first_look()
    assert line.startswith("after 20 seeds: aim 3 gave 5 of 20 seeds; the remaining 5 pairs will take about ")
    assert line.split(" pairs of")[0] in " ".join(capsys.readouterr().err.split())
    assert "remaining" not in play_seeds("r" * 20)[0].first_look()
