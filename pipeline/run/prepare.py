"""Open everything that a configuration names: its corpus, index and model, and the facts about them in its records."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar, get_args

from pipeline import registry
from pipeline.config import RunConfig, gguf_weights
from pipeline.config.endpoints import context_from_environment, is_server_from_environment
from pipeline.config.models import ModelConfig, built_in
from pipeline.context import RunContext
from pipeline.corpus import Corpus, Manifest, load, resolve
from pipeline.corpus.loading import find_prepared
from pipeline.corpus.manifest import names
from pipeline.corpus.train_eval_split import Side
from pipeline.errors import UsageError
from pipeline.exports.trajectories import selection
from pipeline.gates import Gates
from pipeline.gates.licence import conflict
from pipeline.links.opening import open_links
from pipeline.links.related import SideLinks
from pipeline.links.stored import StoredLinks
from pipeline.llm.base import LLM
from pipeline.llm.budget import Budget, Budgeted
from pipeline.llm.cached import Cached
from pipeline.llm.ledger import Counted, Spent
from pipeline.llm.routed import Routed
from pipeline.retrieval.analysers import ENGLISH
from pipeline.retrieval.base import SCORING
from pipeline.retrieval.open_retriever import check as check_retriever
from pipeline.retrieval.open_retriever import open_others, open_retriever
from pipeline.run import given_questions
from pipeline.run.attempts import total_spending
from pipeline.store.cache import NAME as CACHE
from pipeline.store.cache import Cache
from pipeline.types import Lineage

logger = logging.getLogger(__name__)
T = TypeVar("T")


def check(config: RunConfig) -> Manifest:
    """Return the manifest of the corpus. Raises UsageError for every unknown name, and lists the known ones."""
    check_models(config)
    selection.require_policy(config)
    for name in config.strategies:
        registry.load("strategies", name)
    check_retriever(config.retrieval)
    for kind in config.distractors.kinds:
        registry.load("distractors", kind)
    return resolve(config.corpus.name, **config.corpus.model_dump(exclude={"name"}))


def absolute_paths(config: RunConfig) -> RunConfig:
    """Return the configuration with a corpus path that works in any folder, and the settings of its `corpus.toml`.

    Raises like `check`.
    """
    manifest = check(config)
    if config.corpus.name in names():
        return config
    manifest_settings = manifest.model_dump(include={"language", "licence", "attribution", "as_of"})
    settings = {key: value for key, value in manifest_settings.items() if value not in ("unknown", "")}
    corpus = config.corpus.model_copy(update={"name": manifest.address, **settings})
    return config.model_copy(update={"corpus": corpus})


def check_gates(config: RunConfig, manifest: Manifest) -> None:
    """Raise UsageError if the gates cannot work, or would drop every pair of this corpus."""
    Gates(config.gates)
    problem = conflict(manifest.licence)
    if problem and "licence" not in config.gates.off:
        raise UsageError(
            f"{manifest.name}: {problem}, so no pair could be published; "
            "to generate pairs for private use: --set 'gates.off=[\"licence\"]'"
        )


def check_engine(config: RunConfig) -> None:
    """Raise UsageError if the packages of `runtime.engine` are not installed."""
    name = config.runtime.engine
    if name != "local" and find_spec(f"prefect_{name}") is None:
        raise UsageError(f"--engine {name} needs more packages: pip install 'digsite[{name}]'")


def corpus(config: RunConfig, fingerprint: str = "") -> Corpus:
    """Return the corpus, and prepare it in the output folder if that has not been done. Raises CorpusError.

    With a fingerprint, return the corpus as it was prepared with it, even if its source has changed since. If that is
    gone, return the corpus as it is now.
    """
    prepared = find_corpus(config, fingerprint) if fingerprint else None
    return prepared or load(check(config), config.runtime.out, verify=config.runtime.verify)


def find_corpus(config: RunConfig, fingerprint: str) -> Corpus | None:
    """Return the corpus as it was prepared with this fingerprint, or None if that is gone."""
    return find_prepared(check(config), config.runtime.out, fingerprint)


def links(config: RunConfig, corpus: Corpus) -> StoredLinks:
    return open_links(corpus, config.links.most_documents)


def links_of_sides(config: RunConfig, corpus: Corpus) -> dict[str, SideLinks]:
    all_links = links(config, corpus)
    return {side: SideLinks(all_links, None if config.hardens else side) for side in get_args(Side)}


def cache_path(config: RunConfig) -> Path:
    """Return the file of paid answers, which all runs of an output folder share."""
    return config.runtime.out / CACHE


def model(
    config: RunConfig,
    before: Spent | None = None,
    cache: Callable[[], Cache] | None = None,
    connected: Callable[[ModelConfig], LLM] | None = None,
    folder: Path | None = None,
) -> LLM:
    """Build a router over all configured models, with budget and cache. Raises UsageError.

    Built-in models are not cached: asking them again costs less.

    Args:
        before: What has used up part of the budget; by default all earlier commands of the run.
        cache: Opens another cache than that of `cache_path`.
        connected: Returns the clients of models that are open already.
        folder: The run, if its folder is not the one of the settings.
    """
    check_models(config)
    models = {settings.model: settings for settings in config.models.all()}
    shared_budget = budget(config, before, folder)
    has_paid_model = any(not settings.built_in for settings in models.values())
    answer_cache = (cache() if cache else Cache(cache_path(config))) if has_paid_model else None

    def build_client(settings: ModelConfig) -> LLM:
        plain_client = (connected or partial(connect, config))(settings)
        bounded = Budgeted(Counted(plain_client, settings.cost), shared_budget, settings.cost)
        return bounded if answer_cache is None or settings.built_in else Cached(bounded, answer_cache)

    return Routed({name: build_client(settings) for name, settings in models.items()})


def connect(config: RunConfig, settings: ModelConfig) -> LLM:
    plain_client = client(settings, config.seed)
    if settings.provider != "openai":
        return plain_client
    from pipeline.llm.reach import Reached

    return Reached(plain_client, settings, config.runtime.wait_seconds)


def check_models(config: RunConfig) -> None:
    """Raise UsageError if a model cannot be used as it is configured."""
    for name, settings in config.models.by_setting().items():
        if settings.built_in:
            continue
        if settings.provider == "gguf":
            gguf_weights.check(settings.file, settings.model)
            continue
        context_from_environment()
        for endpoint in settings.each():
            endpoint.secrets()
            if problem := endpoint.missing_key():
                raise UsageError(problem)
            if is_server_from_environment(endpoint.base_url):
                logger.warning("OPENAI_BASE_URL: '%s' is asked at %s", settings.model, endpoint.base_url)
        if config.runtime.budget_money is not None and settings.prices is None:
            raise UsageError(f"a money budget needs the prices of '{settings.model}': set models.{name}.prices")


def reach(config: RunConfig) -> None:
    """Run `check`, and ask each endpoint whether it is there, before any work.

    If answers are cached, the first uncached call checks that instead. Raises UsageError and ProviderError.
    """
    check(config)
    if cache_path(config).exists():
        return
    servers = {settings.base_urls: settings for settings in config.models.all() if settings.provider == "openai"}
    for settings in servers.values():
        from pipeline.llm.reach import reach as reach_endpoint

        wait(reach_endpoint(settings, config.runtime.wait_seconds))


def wait(work: Coroutine[None, None, T]) -> T:
    """Return the result of a coroutine. If an event loop runs already, as in a notebook, a thread runs it."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, thread_name_prefix="digsite") as pool:
        return pool.submit(asyncio.run, work).result()


def budget(config: RunConfig, before: Spent | None = None, folder: Path | None = None) -> Budget:
    runtime = config.runtime
    limited = (runtime.budget_tokens, runtime.budget_money) != (None, None)
    if before is None:
        before = total_spending(folder or config.folder()).total if limited else Spent()
    return Budget(
        tokens=runtime.budget_tokens, money=runtime.budget_money, seconds=runtime.budget_seconds, before=before
    )


def client(model: ModelConfig, run_seed: int) -> LLM:
    """Return the bare client of a model: it counts, caches and limits nothing itself."""
    if model.built_in:
        demo_model: LLM = built_in(model.model).model(model.model)
        return demo_model
    if model.provider == "gguf":
        from pipeline.llm.llama import LlamaModel

        return LlamaModel(model, run_seed)
    from pipeline.llm.openai import OpenAIModel

    return OpenAIModel(model, run_seed)


def context(config: RunConfig, corpus: Corpus, before: Spent | None = None, llm: LLM | None = None) -> RunContext:
    """Return what the episodes of a run need, and build the index if there is none. Raises RetrievalError.

    The context's configuration names the engine that opened: without Java it is not the configured one. `before` is as
    for `model`, and `llm` replaces the model.
    """
    retriever = open_retriever(config.retrieval, corpus, config.runtime.out)
    if config.distractors.kinds and not retriever.scores:
        raise UsageError(f"distractors need a retriever that can score them: {SCORING}")
    engine = retriever.name or config.retrieval.identity
    if engine != config.retrieval.identity:
        config = config.model_copy(update={"retrieval": config.retrieval.model_copy(update={"retriever": engine})})
    other_retrievers = open_others(config.retrieval, corpus, config.runtime.out)
    side_links = links_of_sides(config, corpus) if config.uses_links else {}
    # Do this after the engine is known, since the engine is part of the folder's name, and earlier commands in that
    # folder have used up part of the budget.
    llm = llm or model(config, before)
    analyser = retriever.analyser or ENGLISH
    lineage = Lineage(
        run=config.digest()[:12],
        preset=config.preset,
        strategy="harden" if config.hardens else config.strategy,
        model=config.models.names(),
        demo_solver=config.models.of("solver").capabilities.version,
        corpus=corpus.manifest.name,
        corpus_fingerprint=corpus.fingerprint,
        licence=corpus.manifest.licence,
        attribution=corpus.manifest.attribution,
        language=corpus.language,
        as_of=corpus.manifest.as_of,
        retriever=f"{engine} ({analyser})" if analyser != ENGLISH else engine,
        trainable=all(settings.may_train for settings in config.models.in_use()),
    )
    given_by_passage = {given.passage.id: given for given in given_questions.load_given(config, corpus)}
    return RunContext(
        config=config,
        llm=llm,
        retriever=retriever,
        lineage=lineage,
        others=other_retrievers,
        links=side_links,
        given=given_by_passage,
    )
