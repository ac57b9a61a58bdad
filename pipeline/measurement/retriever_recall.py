"""Compare retrievers: does one search with the question find all of its supporting documents?"""

from collections.abc import Mapping, Sequence

import polars as pl

from pipeline.errors import UsageError
from pipeline.measurement.gold_questions import GoldQuestion
from pipeline.measurement.solver_accuracy import ALL, groups
from pipeline.retrieval.base import Retriever
from pipeline.types import Data

DEPTHS = (5, 10, 20, 100)


class RetrieverRecall(Data):
    """The recall of one retriever on one group of questions."""

    group: str
    retriever: str
    questions: int
    all_gold: dict[str, float]
    """Share of the questions with all supporting documents among the first hits, by the number of hits."""


async def compare_retrievers(
    questions: Sequence[GoldQuestion], retrievers: Mapping[str, Retriever]
) -> list[RetrieverRecall]:
    """Measure each retriever on each group of questions. Raises UsageError if no question names its documents."""
    with_documents = [question for question in questions if question.needed_documents]
    if not with_documents:
        raise UsageError(
            "no question has 'supporting_ids' or supporting titles that are in the corpus: retrievers are compared by "
            "whether they find these documents"
        )
    depths = {name: await _measure_depths(with_documents, retriever) for name, retriever in retrievers.items()}
    rows = pl.DataFrame({"group": [groups(question) for question in with_documents], **depths}).explode("group")
    return [
        RetrieverRecall(group=group, retriever=name, questions=len(part), all_gold=_recall_by_depth(part[name]))
        for (group,), part in rows.sort(pl.col("group") != ALL, "group").group_by("group", maintain_order=True)
        for name in depths
    ]


def _recall_by_depth(depths: pl.Series) -> dict[str, float]:
    return {str(limit): sum(depth <= limit for depth in depths) / len(depths) for limit in DEPTHS}


async def _measure_depths(questions: Sequence[GoldQuestion], retriever: Retriever) -> list[int]:
    """Return how many hits each question takes until all its documents appear, or more than the limit."""
    hits_by_question = await retriever.search_many([question.question for question in questions], max(DEPTHS))
    depths = []
    for question, hits in zip(questions, hits_by_question, strict=True):
        first_ranks: dict[str, int] = {}
        for rank, hit in enumerate(hits, 1):
            first_ranks.setdefault(hit.passage.document_id, rank)
        unfound_rank = max(DEPTHS) + 1
        depths.append(
            max(
                min(first_ranks.get(key, unfound_rank) for key in document_ids)
                for document_ids in question.needed_documents
            )
        )
    return depths
