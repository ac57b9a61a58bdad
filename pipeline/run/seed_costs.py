"""What each seed of a run took, for the forecast of what many would take."""

from collections.abc import Iterable

from pipeline.analysis.forecast import SeedCost
from pipeline.run.attempts import AFTERWARDS, Attempt
from pipeline.types import Record, Status, Usage


def seed_costs(attempts: Iterable[Attempt], records: Iterable[Record]) -> list[SeedCost]:
    """Return what each seed of a plan took. Seeds beyond the plan are left out."""
    tried: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        if attempt.ended not in AFTERWARDS:
            tried.setdefault(attempt.key, []).append(attempt)
    return [SeedCost(record.status is Status.ACCEPTED, _usage(tried.get(record.key, []))) for record in records]


def _usage(attempts: Iterable[Attempt]) -> dict[str, Usage]:
    """By model, with an empty cache. The attempt that ended the seed has asked all again that an earlier one had."""
    ended = [attempt for attempt in attempts if attempt.ended in set(Status)]
    later = [attempt for attempt in attempts if attempt.ended == "completed"]
    total: dict[str, Usage] = {}
    for attempt in (*ended[-1:], *later):
        for model, spent in attempt.spent.by_model.items():
            total[model] = total.get(model, Usage()) + spent.fresh
    return total
