"""How good is the judge? 200 near misses with known verdicts, half of them right and half nearly right."""

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
"""None of the cases holds it."""


class Score(Data):
    """`alone_yes`: wrong answers that the first judge would have let pass without the second."""

    right: int
    wrong: int
    false_no: int
    false_yes: int
    alone_yes: int
    unreadable: int
    """Cases without a verdict; they count in none of the others."""


@lru_cache
def near_misses() -> tuple[tuple[NearMiss, bool], ...]:
    """Each case with whether it is right. A line of the file holds two responses to accept and two to refuse."""
    found = []
    for row in map(orjson.loads, FILE.read_bytes().splitlines()):
        responses = [*((right, True) for right in row.pop("right")), *((wrong, False) for wrong in row.pop("wrong"))]
        found += [(NearMiss(response=response, **row), right) for response, right in responses]
    return tuple(found)


async def score(judges: tuple[ModelConfig, ...], llm: LLM) -> Score:
    """Ask the judges about all of them, as a run would. Raises ProviderError."""
    cases = near_misses()

    async def graded(case: NearMiss) -> tuple[bool, str] | None:
        try:
            found = await ask_judges(case, judges, llm, _BOUNDARY)
        except (FormatError, RequestRefused):
            return None
        return found.right, found.method

    answers = await asyncio.gather(*(graded(case) for case, _ in cases))
    pairs = [(known, *answer) for (_, known), answer in zip(cases, answers, strict=True) if answer]
    return Score(
        right=sum(known for known, *_ in pairs),
        wrong=sum(not known for known, *_ in pairs),
        false_no=sum(known and not yes for known, yes, _ in pairs),
        false_yes=sum(yes and not known for known, yes, _ in pairs),
        alone_yes=sum(not known and (yes or method == "split") for known, yes, method in pairs),
        unreadable=len(answers) - len(pairs),
    )
