"""Tevatron's TrainDataset takes a row with `positive_passages` as `query`, and title and text per passage."""

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.exports.views import reranker, retriever, retriever_triplets
from tests.records import accepted, world

ENVIRONMENT = environment(RunConfig())
RECORD, W = accepted(0), world(0)


def test_every_row_has_a_text_for_its_query_and_each_passage():
    rows = list(retriever.VIEW.rows(RECORD, ENVIRONMENT))
    assert [row["query_id"] for row in rows] == [f"{RECORD.key}-{number}" for number in range(len(rows))]
    for row in rows:
        assert row["positive_passages"]
        assert row["negative_passages"]
        for passage in (*row["positive_passages"], *row["negative_passages"]):
            assert set(passage) == {"docid", "title", "text"}
            assert all(isinstance(value, str) and value for value in (row["query"], *passage.values()))


def test_there_is_a_triplet_per_evidence_passage_with_its_own_negative():
    rows = [row for row in retriever_triplets.VIEW.rows(RECORD, ENVIRONMENT) if row["anchor"] == W.question]
    assert [row["positive"] for row in rows] == [f"{passage.title}\n{passage.text}" for passage in W.chain]
    assert len({row["negative"] for row in rows}) == len(rows)


def test_only_relevant_passages_have_quotes():
    rows = list(reranker.VIEW.rows(RECORD, ENVIRONMENT))
    assert {row["label"] for row in rows} == {0, 1}
    for row in rows:
        assert bool(row["evidence"]) == bool(row["label"])
        assert all(quote in row["passage"] for quote in row["evidence"])
