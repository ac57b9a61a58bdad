"""How often a run should take each aim (target steps of a seed) to get every number of measured steps equally often."""

from collections.abc import Sequence

from pipeline.analysis.figures import Target


def fit_aims(targets: Sequence[Target], steps: range) -> dict[int, int]:
    """Return how often to take each aim, as a ratio, so that each number of steps is measured equally often.

    Each number of steps is left to the aim that gave it most often. Numbers that no aim gave are left out.
    """
    needed: dict[int, float] = {}
    for number in steps:
        shares = {target.steps: _count_pairs(target, number) / target.planned for target in targets}
        aim = max(sorted(shares), key=shares.__getitem__, default=0)
        if shares.get(aim):
            needed[aim] = needed.get(aim, 0) + 1 / shares[aim]
    least = min(needed.values(), default=1)
    return {aim: round(seeds / least) for aim, seeds in sorted(needed.items())}


def find_unreached(targets: Sequence[Target], steps: range) -> list[int]:
    measured = [int(count.name) for target in targets for count in target.difficulty]
    return [number for number in steps if number > max(measured, default=0)]


def _count_pairs(target: Target, steps: int) -> int:
    return next((count.count for count in target.difficulty if count.name == str(steps)), 0)
