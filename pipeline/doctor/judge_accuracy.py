"""Measure a judge on 200 near misses with known verdicts, half of them right and half nearly right."""

import asyncio
from functools import lru_cache

import orjson

from pipeline.agents.judge import NearMiss, ask_judges
from pipeline.config.models import ModelConfig
from pipeline.errors import FormatError, RequestRefused
from pipeline.llm.base import LLM
from pipeline.store.shipped_folders import folder
from pipeline.types import Data

FILE = folder("corpora") / "near_misses.jsonl"
_BOUNDARY = "0123456789abcdef"
"""No case contains it."""


class Score(Data):
    """Counts of a judge's verdicts. `alone_yes`: wrong answers that the first judge alone would have accepted."""

    right: int
    wrong: int
    false_no: int
    false_yes: int
    alone_yes: int
    unreadable: int
    """Cases without a verdict; no other count includes them."""


@lru_cache
def near_misses() -> tuple[tuple[NearMiss, bool], ...]:
    """Load each case with whether its response is right.

    A line of the file holds two responses to accept and two to refuse.
    """
    cases = []
    for row in map(orjson.loads, FILE.read_bytes().splitlines()):
        responses = [*((right, True) for right in row.pop("right")), *((wrong, False) for wrong in row.pop("wrong"))]
        cases += [(NearMiss(response=response, **row), right) for response, right in responses]
    return tuple(cases)


async def score(judges: tuple[ModelConfig, ...], llm: LLM) -> Score:
    """Ask the judges about all near misses, as a run would. Raises ProviderError."""
    cases = near_misses()

    async def grade_case(case: NearMiss) -> tuple[bool, str] | None:
        try:
            grade = await ask_judges(case, judges, llm, _BOUNDARY)
        except (FormatError, RequestRefused):
            return None
        return grade.right, grade.method

    answers = await asyncio.gather(*(grade_case(case) for case, _ in cases))
    pairs = [(is_right, *answer) for (_, is_right), answer in zip(cases, answers, strict=True) if answer]
    return Score(
        right=sum(is_right for is_right, *_ in pairs),
        wrong=sum(not is_right for is_right, *_ in pairs),
        false_no=sum(is_right and not accepted for is_right, accepted, _ in pairs),
        false_yes=sum(accepted and not is_right for is_right, accepted, _ in pairs),
        alone_yes=sum(not is_right and (accepted or method == "split") for is_right, accepted, method in pairs),
        unreadable=len(answers) - len(pairs),
    )
