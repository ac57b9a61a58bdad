"""Everything that a configuration names, opened: its corpus, its index, its model, and what its records say of them."""

from pipeline import registry
from pipeline.agents.site import Site
from pipeline.config import RunConfig
from pipeline.corpus import Corpus, Manifest, load, resolve
from pipeline.errors import UsageError
from pipeline.llm.base import LLM
from pipeline.llm.ledger import Counted
from pipeline.retrieval.opening import KINDS, open_retriever
from pipeline.types import Lineage


def check(config: RunConfig) -> Manifest:
    """The manifest of the corpus. Raises UsageError, listing the known ones, for every name that is not known."""
    model(config)
    registry.load("strategies", config.strategy)
    if config.retrieval.retriever not in KINDS:
        raise UsageError(f"no retriever '{config.retrieval.retriever}'; known: {', '.join(KINDS)}")
    named = config.corpus
    fields = {"text_field": named.text_field, "title_field": named.title_field, "id_field": named.id_field}
    return resolve(named.name, **fields)


def corpus(config: RunConfig) -> Corpus:
    """Read the corpus. Raises CorpusError."""
    return load(check(config))


def model(config: RunConfig) -> LLM:
    """The model of all roles. The embedded one is not cached: asking it again is cheaper than looking it up."""
    from pipeline.embedded.model import EmbeddedModel

    if config.model.model != "embedded":
        raise UsageError(f"no model '{config.model.model}'; known: embedded")
    return Counted(EmbeddedModel())


def site(config: RunConfig, corpus: Corpus) -> Site:
    """What the episodes of a run work with; builds the index where there is none. Raises RetrievalError.

    Its configuration names the engine that really opened: without Java that is not the one asked for.
    """
    from pipeline.embedded import solver

    llm = model(config)
    retriever = open_retriever(config.retrieval.retriever, corpus, config.how.out)
    engine = getattr(retriever, "name", config.retrieval.retriever)
    if engine != config.retrieval.retriever:
        config = config.model_copy(update={"retrieval": config.retrieval.model_copy(update={"retriever": engine})})
    lineage = Lineage(
        run=config.digest()[:12],
        preset=config.preset,
        strategy=config.strategy,
        model=config.model.model,
        solver_digest=solver.digest(),
        corpus=corpus.manifest.name,
        corpus_fingerprint=corpus.fingerprint,
        licence=corpus.manifest.licence,
        attribution=corpus.manifest.attribution,
        retriever=engine,
    )
    return Site(config=config, llm=llm, retriever=retriever, lineage=lineage)
