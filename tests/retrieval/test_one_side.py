"""One side of the corpus: nothing of the other side comes through, and enough of this one does."""

import pytest

from pipeline.corpus import Corpus
from pipeline.corpus.split import side
from pipeline.retrieval.engines.lucene import LuceneRetriever
from pipeline.retrieval.one_side import Sided


@pytest.mark.parametrize("of", ["train", "eval"])
async def test_only_one_side_shows_in_the_order_of_the_whole(of, retriever: LuceneRetriever, tiny: Corpus) -> None:
    sided = Sided(retriever, of)
    for query in ("Ostrand", "engineer", "was born in", "Greyfell town"):
        whole = [hit for hit in await retriever.search(query, 41) if side(hit.passage.document_id) == of]
        for k in (1, 2, 5, 41):
            assert await sided.search(query, k) == whole[:k]
    assert 0 < sum(side(document.id) == "eval" for document in tiny.documents) < 10
