"""Questions whose solve rate lies outside the wanted window; by default there is none."""

from pipeline.gates.base import Settings, Weight
from pipeline.types import Draft, Record


def weigh(draft: Draft, record: Record, settings: Settings) -> list[Weight]:
    low, high = settings.solve_rate
    rate = record.solve_rate
    if rate is None or low <= rate <= high:
        return []
    return [Weight(drop=f"its solve rate of {rate:.2f} is not within {low:g} and {high:g}")]
