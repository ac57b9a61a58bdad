"""Questions whose solve rate lies outside the wanted window; by default there is none."""

from pipeline.errors import UsageError
from pipeline.gates.base import Settings, Weight
from pipeline.types import Draft, Record


def ready(settings: Settings) -> None:
    low, high = settings.solve_rate
    if low > high:
        raise UsageError(f"gates.solve_rate: nothing lies within {low:g} and {high:g}; the least comes first")


def weigh(draft: Draft, record: Record, settings: Settings) -> list[Weight]:
    low, high = settings.solve_rate
    rate = record.solve_rate
    if rate is None or low <= rate <= high:
        return []
    return [Weight(drop=f"its solve rate of {rate:.2f} is not within {low:g} and {high:g}")]
