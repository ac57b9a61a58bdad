"""Which retrievers there are, and how one is opened over a corpus. The directory is the registry: a kind is a module
with `opened(corpus, out)`.
"""

from pathlib import Path
from typing import cast

from pipeline import registry
from pipeline.corpus.loading import Corpus
from pipeline.errors import UsageError
from pipeline.retrieval.base import Retriever


def kinds() -> list[str]:
    return registry.names("retrievers")


def check(kind: str) -> None:
    """Raises UsageError, naming the known ones, where there is no such retriever."""
    if "://" not in kind and kind not in kinds():
        raise UsageError(f"no retriever '{kind}'; known: {', '.join(kinds())}, http://host/retrieve")


def open_retriever(kind: str, corpus: Corpus, out: Path) -> Retriever:
    """A retriever over the corpus, with its index under `out`; one with an address has its own. Its `name` says what it
    is: without a Java that starts, `lucene` becomes `bm25`, with a warning.
    """
    check(kind)
    if "://" in kind:
        from pipeline.retrieval.http import HttpRetriever

        return HttpRetriever(corpus, kind)
    return cast(Retriever, registry.load("retrievers", kind).opened(corpus, out))
