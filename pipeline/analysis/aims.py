"""Which aims of seeds give pairs of which steps, and which aims a run should take to get each number as often."""

from collections.abc import Sequence

from pipeline.analysis.figures import Target


def fit_aims(targets: Sequence[Target], steps: range) -> dict[int, int]:
    """Return how often each aim must be taken so that each wanted number of steps is measured as often.

    Each number is left to the aim that gave it most often. A number that no aim gave is left out.
    """
    needed: dict[int, float] = {}
    for wanted in steps:
        shares = {target.steps: _count(target, wanted) / target.planned for target in targets}
        aim = max(sorted(shares), key=shares.__getitem__, default=0)
        if shares.get(aim):
            needed[aim] = needed.get(aim, 0) + 1 / shares[aim]
    least = min(needed.values(), default=1)
    return {aim: round(seeds / least) for aim, seeds in sorted(needed.items())}


def unreached(targets: Sequence[Target], steps: range) -> list[int]:
    """Return the wanted numbers of steps that are greater than any that was measured."""
    measured = [int(count.name) for target in targets for count in target.difficulty]
    return [wanted for wanted in steps if wanted > max(measured, default=0)]


def _count(target: Target, steps: int) -> int:
    return next((count.count for count in target.difficulty if count.name == str(steps)), 0)
