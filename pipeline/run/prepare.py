"""Everything that a configuration names, opened: its corpus, its index, its model, and what its records say of them."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar, get_args

from pipeline import registry
from pipeline.config import RunConfig, weights
from pipeline.config.address import is_server_from_environment
from pipeline.config.certificates import context_from_environment
from pipeline.config.models import ModelConfig
from pipeline.config.providers import built_in
from pipeline.context import RunContext
from pipeline.corpus import Corpus, Manifest, load, resolve
from pipeline.corpus.manifest import names
from pipeline.corpus.split import Side
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
from pipeline.run.attempts import spent
from pipeline.store.cache import NAME as CACHE
from pipeline.store.cache import Cache
from pipeline.types import Lineage

logger = logging.getLogger(__name__)
T = TypeVar("T")


def check(config: RunConfig) -> Manifest:
    """The manifest of the corpus. Raises UsageError, listing the known ones, for every name that is not known."""
    check_models(config)
    selection.ready(config)
    for name in config.strategies:
        registry.load("strategies", name)
    check_retriever(config.retrieval)
    for kind in config.distractors.kinds:
        registry.load("distractors", kind)
    return resolve(config.corpus.name, **config.corpus.model_dump(exclude={"name"}))


def absolute_paths(config: RunConfig) -> RunConfig:
    """The same, with a corpus that is a path as it is found from any working folder, and with what its `corpus.toml`
    says as if the user had said it. Raises as `check` does.
    """
    manifest = check(config)
    if config.corpus.name in names():
        return config
    said = manifest.model_dump(include={"language", "licence", "attribution", "as_of"})
    known = {key: value for key, value in said.items() if value not in ("unknown", "")}
    corpus = config.corpus.model_copy(update={"name": manifest.address, **known})
    return config.model_copy(update={"corpus": corpus})


def check_gates(config: RunConfig, manifest: Manifest) -> None:
    """Raises UsageError where the gates cannot work, or would let nothing of this corpus through."""
    Gates(config.gates)
    problem = conflict(manifest.licence)
    if problem and "licence" not in config.gates.off:
        raise UsageError(
            f"{manifest.name}: {problem}, so no pair could be published; "
            "to generate pairs for private use: --set 'gates.off=[\"licence\"]'"
        )


def check_engine(config: RunConfig) -> None:
    """Raises UsageError where the packages of `how.engine` are not installed."""
    name = config.how.engine
    if name != "local" and find_spec(f"prefect_{name}") is None:
        raise UsageError(f"--engine {name} needs more packages: pip install 'digsite[{name}]'")


def corpus(config: RunConfig) -> Corpus:
    """The corpus, prepared in the output folder if it was not yet. Raises CorpusError."""
    return load(check(config), config.how.out, verify=config.how.verify)


def links(config: RunConfig, corpus: Corpus) -> StoredLinks:
    """What joins the documents of the corpus, found the first time it is asked for."""
    return open_links(corpus, config.links.most_documents)


def links_of_sides(config: RunConfig, corpus: Corpus) -> dict[str, SideLinks]:
    """Return the links of each side of the split; all links for questions that somebody brings."""
    found = links(config, corpus)
    return {side: SideLinks(found, None if config.hardens else side) for side in get_args(Side)}


def cache_path(config: RunConfig) -> Path:
    """Return the file of paid answers, which all runs of an output folder share."""
    return config.how.out / CACHE


def model(
    config: RunConfig,
    before: Spent | None = None,
    cache: Callable[[], Cache] | None = None,
    connected: Callable[[ModelConfig], LLM] | None = None,
) -> LLM:
    """A router over all configured models. What is code of the product is not cached: asking it again costs less.

    Answers that were paid for are kept: see `cache_path`; another `cache` may be given. Raises UsageError. `before` is
    what has used up part of the budget; left out, all earlier commands of the run. `connected` gives the clients of
    models, where some are there already.
    """
    check_models(config)
    models = {one.model: one for one in config.models.all()}
    within = budget(config, before)
    paid = any(not one.built_in for one in models.values())
    kept = (cache() if cache else Cache(cache_path(config))) if paid else None

    def made(one: ModelConfig) -> LLM:
        asked = (connected or partial(connect, config))(one)
        bounded = Budgeted(Counted(asked, one.cost), within, one.cost)
        return bounded if kept is None or one.built_in else Cached(bounded, kept)

    return Routed({name: made(one) for name, one in models.items()})


def connect(config: RunConfig, one: ModelConfig) -> LLM:
    """The client of a model, which asks first whether its endpoint is there."""
    asked = client(one, config.seed)
    if one.provider != "openai":
        return asked
    from pipeline.llm.reach import Reached

    return Reached(asked, one, config.how.wait_seconds)


def check_models(config: RunConfig) -> None:
    """Raises UsageError where a model cannot be asked as it is configured."""
    for name, one in config.models.named().items():
        if one.built_in:
            continue
        if one.provider == "gguf":
            weights.check(one.file, one.model)
            continue
        context_from_environment()
        for endpoint in one.each():
            endpoint.secrets()
            if line := endpoint.missing_key():
                raise UsageError(line)
            if is_server_from_environment(endpoint.base_url):
                logger.warning("OPENAI_BASE_URL: '%s' is asked at %s", one.model, endpoint.base_url)
        if config.how.budget_money is not None and one.prices is None:
            raise UsageError(f"a money budget needs the prices of '{one.model}': set models.{name}.prices")


def reach(config: RunConfig) -> None:
    """`check`, and ask each endpoint, before any work, whether it is there; where answers are kept that is left to the
    first call that they do not hold. Raises UsageError and ProviderError."""
    check(config)
    if cache_path(config).exists():
        return
    servers = {one.base_urls: one for one in config.models.all() if one.provider == "openai"}
    for one in servers.values():
        from pipeline.llm.reach import reach as reached

        wait(reached(one, config.how.wait_seconds))


def wait(work: Coroutine[None, None, T]) -> T:
    """Its result; in a thread of its own where this one runs an event loop already, as a notebook's cells do."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(work)
    with ThreadPoolExecutor(1, thread_name_prefix="digsite") as pool:
        return pool.submit(asyncio.run, work).result()


def budget(config: RunConfig, before: Spent | None = None) -> Budget:
    """What may be spent; `before` is as for `model`."""
    how = config.how
    limited = (how.budget_tokens, how.budget_money) != (None, None)
    if before is None:
        before = spent(config.folder()).total if limited else Spent()
    return Budget(tokens=how.budget_tokens, money=how.budget_money, seconds=how.budget_seconds, before=before)


def client(model: ModelConfig, run_seed: int) -> LLM:
    """The bare model: nothing counted, kept or limited beyond what its endpoint is."""
    if model.built_in:
        made: LLM = built_in(model.model).model(model.model)
        return made
    if model.provider == "gguf":
        from pipeline.llm.llama import LlamaModel

        return LlamaModel(model, run_seed)
    from pipeline.llm.openai import OpenAIModel

    return OpenAIModel(model, run_seed)


def context(config: RunConfig, corpus: Corpus, before: Spent | None = None, llm: LLM | None = None) -> RunContext:
    """What the episodes of a run work with; builds the index where there is none. Raises RetrievalError. `before` is as
    for `model`, which `llm` may stand for.

    Its configuration names the engine that really opened: without Java that is not the one asked for.
    """
    retriever = open_retriever(config.retrieval, corpus, config.how.out)
    if config.distractors.kinds and not retriever.scores:
        raise UsageError(f"distractors need a retriever that can score them: {SCORING}")
    engine = retriever.name or config.retrieval.identity
    if engine != config.retrieval.identity:
        config = config.model_copy(update={"retrieval": config.retrieval.model_copy(update={"retriever": engine})})
    others = open_others(config.retrieval, corpus, config.how.out)
    linked = links_of_sides(config, corpus) if config.uses_links else {}
    # After the engine is known: it names the folder whose earlier commands have used up part of the budget.
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
        language=corpus.language if corpus.language_detected else corpus.manifest.language,
        as_of=corpus.manifest.as_of,
        retriever=f"{engine} ({analyser})" if analyser != ENGLISH else engine,
        trainable=all(one.may_train for one in config.models.played()),
    )
    given = {one.passage.id: one for one in given_questions.of(config, corpus)}
    return RunContext(
        config=config, llm=llm, retriever=retriever, lineage=lineage, others=others, links=linked, given=given
    )
