"""Which retrievers there are, and how one is opened over a corpus."""

import logging
from pathlib import Path

from pipeline.corpus.loading import Corpus
from pipeline.errors import RetrievalError, UsageError
from pipeline.retrieval import jvm
from pipeline.retrieval.base import Retriever
from pipeline.retrieval.bm25 import Bm25Retriever
from pipeline.retrieval.lucene import LuceneRetriever

logger = logging.getLogger(__name__)
KINDS = ("lucene", "bm25")


def check(kind: str) -> None:
    """Raises UsageError, naming the known ones, where there is no such retriever."""
    if kind not in KINDS and "://" not in kind:
        raise UsageError(f"no retriever '{kind}'; known: {', '.join(KINDS)}, http://host/retrieve")


def open_retriever(kind: str, corpus: Corpus, out: Path) -> Retriever:
    """A retriever over the corpus, with its index under `out`; one with an address has its own. Its `name` says what it
    is: without a Java that starts, `lucene` becomes `bm25`, with a warning.
    """
    check(kind)
    if "://" in kind:
        from pipeline.retrieval.http import HttpRetriever

        return HttpRetriever(corpus, kind)
    if kind == "lucene":
        try:
            jvm.call(jvm.start)
        except RetrievalError as error:
            logger.warning("%s. Going on with the slower --retriever bm25, whose ranks differ a little", error)
        else:
            return LuceneRetriever(corpus, out)
    return Bm25Retriever(corpus)
