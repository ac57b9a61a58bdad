"""The kinds of retrievers, and how one is opened over a corpus. A kind is a file in `engines` with a function
`opened(corpus, out, settings)`.
"""

from pathlib import Path
from typing import cast

from pipeline import registry
from pipeline.config.retrieval_settings import RetrievalConfig
from pipeline.corpus import Corpus
from pipeline.errors import UsageError, unknown
from pipeline.retrieval.base import Retriever


def kinds() -> list[str]:
    return registry.names("retrievers")


def check(settings: RetrievalConfig) -> None:
    """Raises UsageError if there is no such retriever, naming the known ones, or if it lacks what it needs."""
    for kind in {settings.retriever, *settings.kinds}:
        if "://" not in kind and kind not in kinds():
            raise unknown("retriever", kind, kinds(), more=", http://host/retrieve")
    if "dense" in settings.kinds:
        from pipeline.retrieval.encoder import check as check_encoder

        check_encoder(settings.dense)
    for other in settings.others.values():
        check(other)


def open_retriever(asked: RetrievalConfig | str, corpus: Corpus, out: Path) -> Retriever:
    """A retriever over the corpus, with its index under `out`, or a server with an index of its own; a word stands for
    that kind. Its `name` says which engine it is: if Java does not start, `lucene` becomes `bm25`, with a warning.
    """
    settings = RetrievalConfig(retriever=asked) if isinstance(asked, str) else asked
    check(settings)
    if settings.remote:
        from pipeline.retrieval.http import HttpRetriever

        return HttpRetriever(corpus, settings.retriever)
    return cast(Retriever, registry.load("retrievers", settings.retriever).opened(corpus, out, settings))


def open_others(settings: RetrievalConfig, corpus: Corpus, out: Path) -> dict[str, Retriever]:
    """The retrievers that the audit searches beside the run's own, by their names. Raises UsageError if one of them
    does not start: another in its place would be another audit."""
    opened = {name: open_retriever(asked, corpus, out) for name, asked in settings.others.items()}
    for name, retriever in opened.items():
        if (retriever.name or name) != name:
            raise UsageError(f"no {name} starts here: leave it out of retrieval.audit, or see digsite doctor")
    return opened
