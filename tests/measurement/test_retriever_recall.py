"""Retrievers are compared by what counts as found, and from which depth."""

import pytest

from pipeline.measurement.gold_questions import GoldQuestion
from pipeline.measurement.retriever_recall import compare_retrievers
from tests.passages import Shelf, passage

MANY = [passage(f"other{n:02}", "Holm", "Holm Holm Holm.") for n in range(12)]
BOTH = passage("film", "Lantern Bay", "Lantern Bay Holm Holm Holm Holm Holm."), passage("holm", "Ada", "Holm.")


async def test_a_question_counts_from_the_depth_where_its_last_document_is_found() -> None:
    questions = [
        GoldQuestion(question="Holm", answer="x", supporting_ids=("film", "holm"), dataset="made", hops=2),
        GoldQuestion(question="Lantern", answer="x", supporting_ids=("film",)),
        GoldQuestion(question="Lantern", answer="x", supporting_ids=("nowhere",)),
        GoldQuestion(question="Lantern", answer="x"),
    ]
    figures = await compare_retrievers(questions, {"deep": Shelf(*MANY, *BOTH), "short": Shelf(*BOTH)})
    assert [(figure.group, figure.retriever, figure.questions) for figure in figures] == [
        (group, name, n) for group, n in (("all", 3), ("made", 1), ("made 2-hop", 1)) for name in ("deep", "short")
    ]
    deep, short = figures[:2]
    assert deep.all_gold == pytest.approx({"5": 1 / 3, "10": 1 / 3, "20": 2 / 3, "100": 2 / 3})
    assert short.all_gold == pytest.approx({"5": 2 / 3, "10": 2 / 3, "20": 2 / 3, "100": 2 / 3})
