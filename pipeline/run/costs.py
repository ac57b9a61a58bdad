"""What each seed of a run took, from its attempts, for the forecast of what many would take."""

from collections.abc import Iterable
from datetime import datetime

from pipeline.analysis.forecast import PilotCosts, SeedCost
from pipeline.run.attempts import AFTERWARDS, Attempt
from pipeline.types import Record, Status, Usage

_LEAST_PAID = 0.1
"""Of the completion tokens. Where more of them came from Digsite's cache, the time that a run would take is unknown."""


def pilot(attempts: Iterable[Attempt], records: Iterable[Record]) -> PilotCosts:
    """The seeds of a plan. Seeds beyond it and interrupted attempts take part in the clock alone."""
    tried: dict[str, list[Attempt]] = {}
    for attempt in attempts:
        if attempt.ended not in AFTERWARDS:
            tried.setdefault(attempt.key, []).append(attempt)
    whole = [attempt for each in tried.values() for attempt in each]
    wall = _wall(whole)
    at_work = sum(attempt.seconds for attempt in whole) / wall if wall else 0.0
    found = [(record, tried.get(record.key, [])) for record in records]
    usages = [_usage(each) for _, each in found]
    fresh = sum(usage.completion_tokens for by_model in usages for usage in by_model.values())
    paid = sum(attempt.spent.total.paid.completion_tokens for _, each in found for attempt in each)
    timed = at_work > 0 and paid > 0 and paid >= _LEAST_PAID * fresh and all(each for _, each in found)
    stretched = max(1.0, fresh / paid) / at_work if timed else 0.0
    return PilotCosts(
        seeds=[
            SeedCost(
                accepted=record.status is Status.ACCEPTED,
                usage=usage,
                seconds=stretched * sum(attempt.seconds for attempt in each) if timed else None,
            )
            for (record, each), usage in zip(found, usages, strict=True)
        ],
        at_work=at_work,
    )


def _usage(attempts: Iterable[Attempt]) -> dict[str, Usage]:
    """By model, with an empty cache. The attempt that ended the seed has asked all again that an earlier one had."""
    ended = [attempt for attempt in attempts if attempt.ended in set(Status)]
    later = [attempt for attempt in attempts if attempt.ended == "completed"]
    total: dict[str, Usage] = {}
    for attempt in (*ended[-1:], *later):
        for model, spent in attempt.spent.by_model.items():
            total[model] = total.get(model, Usage()) + spent.fresh
    return total


def _wall(attempts: Iterable[Attempt]) -> float:
    """Seconds in which any attempt was at work."""
    whole, until = 0.0, float("-inf")
    began = ((datetime.fromisoformat(attempt.began).timestamp(), attempt.seconds) for attempt in attempts)
    for start, seconds in sorted(began):
        whole += max(0.0, start + seconds - max(start, until))
        until = max(until, start + seconds)
    return whole
