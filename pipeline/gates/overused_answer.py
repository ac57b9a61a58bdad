"""Pairs whose answer too many pairs have already: by default more than 1 % of them. Yes and no are let pass."""

from pipeline.config.exports import GateConfig
from pipeline.gates.base import ALWAYS, Gate, GateResult, limit
from pipeline.text import normalise
from pipeline.types import AnswerType, Draft, Record


def check(draft: Draft, record: Record, settings: GateConfig) -> list[GateResult]:
    if draft.answer_type is AnswerType.BOOLEAN:
        return []
    answer = normalise(draft.answer)
    return limit([answer], f"enough pairs have the answer '{answer}'", ALWAYS, settings.answers)


GATE = Gate(check)
