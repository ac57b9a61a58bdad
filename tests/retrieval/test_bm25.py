"""The engine without Java ranks nearly as Lucene, and warns of large corpora."""

import logging

import pytest

from pipeline.corpus import Corpus, jvm
from pipeline.retrieval.engines import bm25, lucene
from pipeline.retrieval.engines.bm25 import Bm25Retriever, analyse
from pipeline.retrieval.engines.lucene import LuceneRetriever


async def test_bm25_ranks_nearly_as_lucene(tiny: Corpus, retriever: LuceneRetriever) -> None:
    small = Bm25Retriever(tiny)
    queries = [" ".join(passage.text.split()[4:14]) for passage in tiny.passages]
    ours = [[hit.passage.id for hit in hits] for hits in await small.search_many(queries, 5)]
    theirs = [[hit.passage.id for hit in hits] for hits in await retriever.search_many(queries, 5)]
    assert sum(a[0] == b[0] for a, b in zip(ours, theirs, strict=True)) >= 40
    assert sum(len({*a} & {*b}) for a, b in zip(ours, theirs, strict=True)) / sum(map(len, theirs)) > 0.95


def test_words_are_split_and_stemmed_as_in_lucene(tiny: Corpus, retriever: LuceneRetriever) -> None:
    texts = [passage.text for passage in tiny.passages]
    texts += ["The cat's paw, 1,234.5 m and don’t U.S. co-op; x_y 3rd", "RUNNING flies Universities généralement"]
    assert [analyse(text) for text in texts] == jvm.call(lambda: [lucene.analyse(text) for text in texts])


def test_a_large_corpus_is_warned_about(
    tiny: Corpus, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    with caplog.at_level(logging.WARNING):
        Bm25Retriever(tiny)
        assert caplog.text == ""
        monkeypatch.setattr(bm25, "MANY", 40)
        Bm25Retriever(tiny)
    assert "41 passages are many for --retriever bm25" in caplog.text
