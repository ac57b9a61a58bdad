"""Look up a kind of retriever and open it over a corpus.

A kind is a file in `engines` that defines an `Engine`.
"""

from pathlib import Path

from pipeline import registry
from pipeline.config.retrieval import RetrievalConfig
from pipeline.corpus import Corpus
from pipeline.errors import UsageError, unknown
from pipeline.retrieval.base import Engine, Retriever


def kinds() -> list[str]:
    return registry.names("retrievers")


def check(settings: RetrievalConfig) -> None:
    """Raise UsageError if the retriever is unknown or lacks something it needs."""
    for kind in {settings.retriever, *settings.kinds}:
        if "://" not in kind and kind not in kinds():
            raise unknown("retriever", kind, kinds(), more=", http://host/retrieve")
    if "dense" in settings.kinds:
        from pipeline.retrieval.encoder import check as check_encoder

        check_encoder(settings.dense)
    for audit_settings in settings.others.values():
        check(audit_settings)


def open_retriever(settings: RetrievalConfig | str, corpus: Corpus, out: Path) -> Retriever:
    """Open a retriever over the corpus, with its index under `out`, or a client of a server that has its own index.

    If Java does not start, `lucene` becomes `bm25` with a warning. The retriever's `name` says which engine runs.

    Args:
        settings: the settings, or the name of a kind for the defaults of that kind.
    """
    if isinstance(settings, str):
        settings = RetrievalConfig(retriever=settings)
    check(settings)
    if settings.remote:
        from pipeline.retrieval.http import HttpRetriever

        return HttpRetriever(corpus, settings.retriever)
    return registry.instance("retrievers", settings.retriever, Engine).build(corpus, out, settings)


def open_others(settings: RetrievalConfig, corpus: Corpus, out: Path) -> dict[str, Retriever]:
    """Open the retrievers that the audit searches besides the run's own, by name.

    Raises:
        UsageError: if one of them does not start. A fallback engine would make it another audit.
    """
    retrievers = {name: open_retriever(audit_settings, corpus, out) for name, audit_settings in settings.others.items()}
    for name, retriever in retrievers.items():
        if (retriever.name or name) != name:
            raise UsageError(
                f"{name} does not start on this machine: leave it out of retrieval.audit, or run digsite doctor"
            )
    return retrievers
