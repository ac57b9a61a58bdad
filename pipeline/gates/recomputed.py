"""Aggregates whose answer is not what their program gives over the quotes as they stand."""

from pipeline.config.gates import GateConfig
from pipeline.loop.recomputed import program_fault
from pipeline.types import Draft, Record


def check(draft: Draft, record: Record, settings: GateConfig) -> str:
    return program_fault(draft)
