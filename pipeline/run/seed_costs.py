"""The cost of each seed of a run, from which the cost of a larger run is estimated."""

from collections.abc import Iterable

from pipeline.analysis.forecast import SeedCost
from pipeline.run.attempts import AFTERWARDS, Attempt
from pipeline.types import Record, Status, Usage


def seed_costs(attempts: Iterable[Attempt], records: Iterable[Record]) -> list[SeedCost]:
    by_seed: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        if attempt.ended not in AFTERWARDS:
            by_seed.setdefault(attempt.key, []).append(attempt)
    return [SeedCost(record.status is Status.ACCEPTED, _fresh_usage(by_seed.get(record.key, []))) for record in records]


def _fresh_usage(attempts: Iterable[Attempt]) -> dict[str, Usage]:
    """Return the usage by model with an empty cache.

    Only the last finished attempt counts, and later completions: it repeated all requests of earlier attempts.
    """
    final = [attempt for attempt in attempts if attempt.ended in set(Status)]
    completing = [attempt for attempt in attempts if attempt.ended == "completed"]
    total: dict[str, Usage] = {}
    for attempt in (*final[-1:], *completing):
        for model, spending in attempt.spent.by_model.items():
            total[model] = total.get(model, Usage()) + spending.fresh
    return total
