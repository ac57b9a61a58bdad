"""Which target to aim at for each number of steps, given what earlier targets led to."""

from pipeline.analysis.aims import find_unreached, fit_aims
from pipeline.analysis.estimates import Count
from pipeline.analysis.figures import Target


def make_target(aim: int, planned: int, **measured: int) -> Target:
    counts = tuple(Count(name=name.strip("s"), count=count) for name, count in measured.items())
    return Target(
        steps=aim, planned=planned, accepted=planned, below_target=0, difficulty=counts, mean_difficulty=None,
        mean_solve_rate=None,
    )  # fmt: skip


def test_each_number_of_steps_is_assigned_the_target_that_gives_it_most_often() -> None:
    targets = [make_target(3, 10, s2=5, s3=1), make_target(4, 10, s2=2, s3=2), make_target(5, 20, s3=2)]
    assert fit_aims(targets, range(2, 4)) == {3: 1, 4: 2}
    assert find_unreached(targets, range(2, 5)) == [4]


def test_without_measurements_nothing_is_assigned() -> None:
    assert (fit_aims([], range(2, 4)), fit_aims([make_target(3, 5)], range(2, 4))) == ({}, {})
