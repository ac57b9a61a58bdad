"""Retrievers beside each other: does one search with the question find all of its supporting documents?"""

from collections.abc import Mapping, Sequence

import polars as pl

from pipeline.errors import UsageError
from pipeline.measurement.gold_questions import GoldQuestion
from pipeline.measurement.solver_accuracy import ALL, groups
from pipeline.retrieval.base import Retriever
from pipeline.types import Data

DEPTHS = (5, 10, 20, 100)


class RetrieverRecall(Data):
    """Of one retriever on one group of questions."""

    group: str
    retriever: str
    questions: int
    all_gold: dict[str, float]
    """By the number of passages: the share of the questions whose supporting documents are all among these."""


async def compare_retrievers(
    questions: Sequence[GoldQuestion], retrievers: Mapping[str, Retriever]
) -> list[RetrieverRecall]:
    """One for each group of questions and each retriever. Raises UsageError where no question names its documents."""
    asked = [question for question in questions if question.wanted]
    if not asked:
        raise UsageError(
            "no question has 'supporting_ids' or supporting titles that are in the corpus: retrievers are compared by "
            "whether they find these documents"
        )
    found = {name: await _least(asked, retriever) for name, retriever in retrievers.items()}
    rows = pl.DataFrame({"group": [groups(one) for one in asked], **found}).explode("group")
    return [
        RetrieverRecall(group=group, retriever=name, questions=len(part), all_gold=_shares(part[name]))
        for (group,), part in rows.sort(pl.col("group") != ALL, "group").group_by("group", maintain_order=True)
        for name in found
    ]


def _shares(least: pl.Series) -> dict[str, float]:
    return {str(k): sum(one <= k for one in least) / len(least) for k in DEPTHS}


async def _least(questions: Sequence[GoldQuestion], retriever: Retriever) -> list[int]:
    """For each question the passages it takes until all of its documents are found; too many if they are not."""
    least, found = [], await retriever.search_many([one.question for one in questions], max(DEPTHS))
    for question, hits in zip(questions, found, strict=True):
        first: dict[str, int] = {}
        for place, hit in enumerate(hits, 1):
            first.setdefault(hit.passage.document_id, place)
        beyond = max(DEPTHS) + 1
        least.append(max(min(first.get(key, beyond) for key in one) for one in question.wanted))
    return least
