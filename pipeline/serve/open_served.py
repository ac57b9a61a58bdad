"""Opens what a server serves: a corpus with its index, under a data set's environment where there is one."""

from functools import lru_cache
from pathlib import Path

from pydantic import ValidationError

from pipeline.agents.environment_file import Environment, environment
from pipeline.agents.tools import FIND, PAGED_OPEN
from pipeline.config import RunConfig
from pipeline.config.environment_settings import EnvironmentConfig
from pipeline.config.ragshaper_settings import DistractorConfig
from pipeline.distractors.hard_passages import plan_overlay
from pipeline.errors import UsageError
from pipeline.retrieval.open_retriever import open_retriever
from pipeline.retrieval.question_passages import IndexChanges
from pipeline.run import prepare, read
from pipeline.serve.retrieval_app import Overlays, Served
from pipeline.store.journal import Journal
from pipeline.types import Passage
from pipeline.types.twin import twin_key

_FILE = "environment.json"


def of_corpus(config: RunConfig, file: Path | None = None) -> Served:
    """The corpus that `config` names; the environment is that of `file`, if it is given, else the configuration's.

    Raises UsageError where the pairs of that environment were measured over another retriever.
    """
    served = _opened(config, file)
    if file and served.environment.retriever not in ("", served.engine):
        line = f"how hard its pairs are was measured over {served.environment.retriever}, not over {served.engine}"
        raise UsageError(f"{file}: {line}; serve that with --retriever, or generate over the one that you train with")
    return served


def _opened(config: RunConfig, file: Path | None) -> Served:
    governing = read_environment(file) if file else environment(config)
    corpus = prepare.corpus(config)
    retriever = open_retriever(config.retrieval, corpus, config.how.out)
    return Served(
        corpus=corpus,
        retriever=retriever,
        environment=governing,
        engine=retriever.name or config.retrieval.identity,
        fixed=file is not None,
    )


def of_run(folder: Path) -> Served:
    """The corpus and index of a run, under the environment of its data set.

    Raises UsageError if they are not those that the run was made with.
    """
    kept = read(folder)
    config = kept.config.with_how(out=folder.parents[1])
    file = folder / "dataset" / _FILE
    served = _opened(config, file if file.exists() else None)
    if served.corpus.fingerprint != kept.corpus_fingerprint:
        raise UsageError(f"the corpus '{config.corpus.name}' has changed since {folder} was made; restore its texts")
    if served.engine != config.retrieval.identity:
        raise UsageError(f"{folder} was made with {config.retrieval.identity}, but only {served.engine} starts here")
    return served._replace(fixed=True, overlays=overlays(folder, config.distractors))


def overlays(folder: Path, settings: DistractorConfig) -> Overlays:
    """The distractors of a run's pairs, and what they hide, by their `id` in the data set, read on demand."""
    journal = Journal(folder / "journal", run=read(folder).identity)
    # Twins are tried without distractors.
    twins = frozenset(map(twin_key, journal.entries))

    @lru_cache(maxsize=4096)
    def over(question_id: str) -> tuple[list[Passage], IndexChanges]:
        if question_id in twins:
            return [], IndexChanges()
        if question_id not in journal.entries:
            raise UsageError(f"this run has no question '{question_id}'; it is the column `id` of its data set")
        record = journal.read(question_id)
        tried, draft = record.distractor_eval, record.draft
        return plan_overlay(draft, tried.used, settings) if draft and tried else ([], IndexChanges())

    return over


def read_environment(file: Path) -> Environment:
    """The environment of a data set. Raises UsageError if it is none, or one that this version cannot reproduce."""
    try:
        found = Environment.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise UsageError(f"{file} is not the environment of a data set: name its '{_FILE}'") from error
    offered = EnvironmentConfig(pages=PAGED_OPEN in found.tools, find=FIND in found.tools)
    ours = environment(RunConfig(environment=offered))
    if (found.tools, found.observation) != (ours.tools, ours.observation):
        line = "needs other tools or another rendering than this version has; use the version that wrote it"
        raise UsageError(f"{file} {line}")
    return found
