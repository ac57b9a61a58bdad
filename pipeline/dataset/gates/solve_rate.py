"""Questions whose solve rate lies outside `gates.solve_rate`; by default every rate passes."""

from pipeline.config.gates import GateConfig
from pipeline.dataset.gates.base import GateResult
from pipeline.types import Draft, Record


def check(draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
    low, high = settings.solve_rate
    rate = record.solve_rate
    if rate is None or low <= rate <= high:
        return []
    return [GateResult(drop=f"its solve rate of {rate:.2f} is not within {low:g} and {high:g}")]
