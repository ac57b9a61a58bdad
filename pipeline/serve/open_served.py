"""Opening of a corpus or run for a server: the corpus with its index, and the environment of a data set if any."""

from functools import lru_cache
from pathlib import Path

from pydantic import ValidationError

from pipeline.agents.environment_file import Environment, environment
from pipeline.agents.tools import FIND, PAGED_OPEN
from pipeline.config import RunConfig
from pipeline.config.loop import DistractorConfig, EnvironmentConfig
from pipeline.distractors.hard_passages import plan_overlay
from pipeline.errors import UsageError
from pipeline.retrieval.open_retriever import open_retriever
from pipeline.retrieval.question_passages import IndexChanges
from pipeline.run import prepare, read, versions
from pipeline.serve.retrieval_app import Overlays, Served
from pipeline.store.journal import Journal
from pipeline.types import Passage
from pipeline.types.twin import twin_key

_FILE = "environment.json"


def open_corpus(config: RunConfig, file: Path | None = None) -> Served:
    """Open the corpus in `config` under the environment in `file`, or the configuration's if there is no file.

    Raises UsageError if the pairs of that environment were measured with another retriever.
    """
    served = _open(config, file)
    if file and served.environment.retriever not in ("", served.engine):
        line = f"how hard its pairs are was measured over {served.environment.retriever}, not over {served.engine}"
        raise UsageError(f"{file}: {line}; serve that with --retriever, or generate over the one that you train with")
    return served


def _open(config: RunConfig, file: Path | None, fingerprint: str = "") -> Served:
    # First, since a mistake in the file must not cost the time of opening an index.
    served_environment = read_environment(file) if file else environment(config)
    corpus = prepare.corpus(config, fingerprint)
    retriever = open_retriever(config.retrieval, corpus, config.runtime.out)
    return Served(
        corpus=corpus,
        retriever=retriever,
        environment=served_environment,
        engine=retriever.name or config.retrieval.identity,
        fixed=file is not None,
    )


def open_run(folder: Path) -> Served:
    """Open the corpus and index that a run was verified on, under the environment of its data set.

    Raises UsageError if the corpus has changed and its prepared texts are gone.
    """
    run_file = read(folder)
    config = run_file.config.with_runtime(out=folder.parents[1])
    file = folder / "dataset" / _FILE
    served = _open(config, file if file.exists() else None, run_file.corpus_fingerprint)
    if served.corpus.fingerprint != run_file.corpus_fingerprint:
        raise UsageError(
            f"the corpus '{config.corpus.name}' has changed since {folder} was made, and its prepared texts are gone "
            f"from {config.runtime.out / 'corpora'}; restore that folder or the old files of the corpus"
        )
    if served.engine != config.retrieval.identity:
        raise UsageError(
            f"{folder} was made with {config.retrieval.identity}, which does not start here ({served.engine} does); "
            "to see why: digsite doctor"
        )
    return served._replace(fixed=True, overlays=_build_overlays(folder, config.distractors))


def _build_overlays(folder: Path, settings: DistractorConfig) -> Overlays:
    """Return a function from the `id` of a pair to its distractors and what they hide, which reads the journal."""
    journal = Journal(folder / "journal", run=versions.read_identity(folder))
    # Rollouts of twins have no distractors.
    twins = frozenset(map(twin_key, journal.entries))

    @lru_cache(maxsize=4096)
    def overlay(question_id: str) -> tuple[list[Passage], IndexChanges]:
        if question_id in twins:
            return [], IndexChanges()
        if question_id not in journal.entries:
            raise UsageError(f"this run has no question '{question_id}'; it is the column `id` of its data set")
        record = journal.read(question_id)
        evaluation, draft = record.distractor_eval, record.draft
        return plan_overlay(draft, evaluation.used, settings) if draft and evaluation else ([], IndexChanges())

    return overlay


def read_environment(file: Path) -> Environment:
    """Read the environment of a data set. Raises UsageError if this version cannot read or reproduce it."""
    try:
        file_environment = Environment.model_validate_json(file.read_bytes())
    except (OSError, ValidationError) as error:
        raise UsageError(f"{file} is no environment file; give the path of the '{_FILE}' of a data set") from error
    tools = file_environment.tools
    own_environment = environment(
        RunConfig(environment=EnvironmentConfig(pages=PAGED_OPEN in tools, find=FIND in tools))
    )
    if (tools, file_environment.observation) != (own_environment.tools, own_environment.observation):
        line = "needs other tools or another rendering than this version has; use the version that wrote it"
        raise UsageError(f"{file} {line}")
    return file_environment
