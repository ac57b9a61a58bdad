"""A search restricted to one split returns only passages of that split, and enough of them."""

import pytest

from pipeline.corpus import Corpus
from pipeline.corpus.train_eval_split import side
from pipeline.retrieval.engines.lucene import LuceneRetriever
from pipeline.retrieval.one_side import Sided


@pytest.mark.parametrize("split", ["train", "eval"])
async def test_only_one_split_is_returned_in_the_order_of_the_full_search(
    split, retriever: LuceneRetriever, tiny: Corpus
) -> None:
    sided = Sided(retriever, split)
    for query in ("Ostrand", "engineer", "was born in", "Greyfell town"):
        expected = [hit for hit in await retriever.search(query, 41) if side(hit.passage.document_id) == split]
        for k in (1, 2, 5, 41):
            assert await sided.search(query, k) == expected[:k]
    assert 0 < sum(side(document.id) == "eval" for document in tiny.documents) < 10
