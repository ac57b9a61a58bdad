"""Which retriever a name opens. What happens without Java is in test_jvm, which needs a process of its own."""

from pathlib import Path

import pytest

from pipeline.corpus import Corpus
from pipeline.errors import UsageError
from pipeline.retrieval.engines.bm25 import Bm25Retriever
from pipeline.retrieval.engines.lucene import LuceneRetriever
from pipeline.retrieval.open_retriever import open_retriever


def test_each_name_opens_its_retriever(tiny: Corpus, indexes: Path) -> None:
    assert isinstance(open_retriever("lucene", tiny, indexes), LuceneRetriever)
    assert isinstance(open_retriever("bm25", tiny, indexes), Bm25Retriever)


def test_an_unknown_name_lists_the_known_ones(tiny: Corpus, indexes: Path) -> None:
    with pytest.raises(UsageError, match="no retriever 'elastic'; known: bm25, dense, hybrid, lucene"):
        open_retriever("elastic", tiny, indexes)
