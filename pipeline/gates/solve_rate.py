"""Questions whose solve rate, for the named policy or else the solver, lies outside `gates.solve_rate`."""

from pipeline.config.exports import GateConfig
from pipeline.gates.base import Gate
from pipeline.types import Draft, Record


def check(draft: Draft, record: Record, settings: GateConfig) -> str:
    low, high = settings.solve_rate
    _, rate = record.hardness_for(settings.policy)
    if rate is None and settings.banded_policy:
        return f"not measured for {settings.policy}: run digsite remeasure"
    if rate is None or low <= rate <= high:
        return ""
    return f"its solve rate of {rate:.2f} is not within {low:g} and {high:g}"


GATE = Gate(check)
