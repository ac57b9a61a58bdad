"""How hard rewritten questions are in their first words, in a neutral paraphrase and as they were accepted."""

from collections import defaultdict
from collections.abc import Iterable
from statistics import fmean

from pipeline.types import Data, Record, Share
from pipeline.types.wording import Wording


class WordingFigures(Data):
    """Of one kind of wording, over all questions that were tried in it."""

    name: str
    questions: int
    solved: Share
    """Of all rollouts, those that were correct."""
    least_steps: float | None
    """Mean over the questions that were solved."""


def wording_figures(records: Iterable[Record]) -> tuple[WordingFigures, ...]:
    """In the order in which they were tried."""
    found = defaultdict[str, list[Wording]](list)
    for record in records:
        for one in record.wordings:
            found[one.name].append(one)
    return tuple(_figures(name, tried) for name, tried in found.items())


def _figures(name: str, tried: list[Wording]) -> WordingFigures:
    steps = [one.least_steps for one in tried if one.least_steps is not None]
    part, whole = sum(one.solved.part for one in tried), sum(one.solved.whole for one in tried)
    return WordingFigures(
        name=name,
        questions=len(tried),
        solved=Share(part=part, whole=whole),
        least_steps=fmean(steps) if steps else None,
    )
