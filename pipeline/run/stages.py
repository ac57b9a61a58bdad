"""The stages of `generate`: read the corpus, open the index, run seeds, export, report.

`RunCallbacks.stage` is called as each stage begins. A Prefect flow only shows these calls, so a run gives the same
bytes with a flow and without.
"""

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractContextManager, ExitStack, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path

from pipeline.config import RunConfig
from pipeline.config.runtime import Runtime
from pipeline.context import RunContext
from pipeline.corpus import Corpus
from pipeline.corpus.language import is_english
from pipeline.corpus.unreadable_files import describe_unread
from pipeline.errors import BudgetExceeded, UsageError
from pipeline.llm.routed import Routed
from pipeline.loop.episode import run_seed
from pipeline.run import Run, RunCallbacks, RunResult, facts, prepare, publish, refresh, targets, tool_modes, versions
from pipeline.run.attempts import MODES, note_work
from pipeline.run.batches import Batches, Submit
from pipeline.run.plan import check_askable
from pipeline.run.refresh import Place
from pipeline.run.resume import check_unchanged, keep_export_settings
from pipeline.store.lock import hold_lock
from pipeline.store.worker_answers import take_left

logger = logging.getLogger(__name__)


def read(config: RunConfig, watch: RunCallbacks) -> Corpus:
    """Read the corpus, and warn about what was left out. Raises an error if no pair could be made or published."""
    prepare.check_engine(config)
    watch.stage("reading the corpus")
    corpus = prepare.corpus(config)
    prepare.check_gates(config, corpus.manifest)
    check_askable(corpus)
    name = corpus.manifest.name
    if left_out := corpus.counts.left_out:
        read_count, document_count = corpus.counts.kept, corpus.counts.read
        logger.warning(
            "%s: %s of %s documents read; left out: %s", name, f"{read_count:,}", f"{document_count:,}", left_out
        )
    # English is what prompts and index take for granted.
    if corpus.language_detected and corpus.language != "en":
        logger.warning("%s: language %s (detected): say another with --language", name, corpus.language)
    if config.models.of("generator").capabilities.english_only and not is_english(corpus.passages):
        logger.warning("%s: the demo model reads English only, and most of these texts are not: choose a --model", name)
    if config.questions.unanswerable and not config.questions.twins(config.models):
        logger.warning(
            "the demo model makes no questions without an answer: choose a --model for questions.unanswerable"
        )
    if len(corpus.counts.kinds) > 1:
        logger.warning("%s: files read: %s", name, corpus.counts.read_by_kind)
    for note in [*corpus.offenders, *corpus.counts.noted, *describe_unread(corpus.counts.skipped)]:
        logger.warning("%s: %s", name, note)
    return corpus


Engine = Callable[[Runtime], AbstractContextManager[Submit]]
"""Opens the workers that run seeds instead of this process."""


Adapt = Callable[[RunConfig, Path], RunConfig]
"""Changes the settings, once the folder of the run is known."""


@asynccontextmanager
async def open_run(
    config: RunConfig,
    folder: Path | None,
    watch: RunCallbacks,
    unattended: Adapt | None = None,
) -> AsyncIterator[tuple[Run, RunContext]]:
    """Open and lock a run, with what its seeds need. `folder` is that of a run to continue.

    Without Java another engine opens, which makes it another run with its own folder; a run to continue refuses that.
    The same holds if models need another tool mode than their server's own calls. If the corpus has changed, the next
    version of the run begins, in a folder of its own.
    """
    requested = folder or config.folder()
    with ExitStack() as stack:
        stack.enter_context(hold_lock(requested))  # before reading the corpus, to refuse a second process at once
        corpus = read(config, watch)
        if folder:  # the run would refuse a changed corpus too, but only after indexing it
            check_unchanged(requested, config, corpus.fingerprint)
        watch.stage("opening the index and the links" if config.uses_links else "opening the index")
        mode_cost, place = None, Place(folder) if folder else None
        if place is None:
            targets.check(config, corpus)
            config, mode_cost = tool_modes.resolve_with_cost(config)
        context = prepare.context(config, corpus, llm=Routed({}))
        place = place or refresh.choose_place(context.config, corpus.fingerprint)
        with ExitStack() as lock:
            if place.folder != requested:
                lock.enter_context(hold_lock(place.folder))
            take_left(place.folder, prepare.cache_path(config))
            context = _adapt(context, place, unattended)
            await _begin_version(place, requested, context, corpus, watch)
            if place.folder != requested:
                stack.close()
                stack.push(lock.pop_all())
        config = context.config.with_runtime(carried=versions.count_carried(place.folder))
        publish.check_pairs_kept(place.folder, config)
        facts.keep(place.folder, corpus)
        if mode_cost:
            note_work(place.folder, MODES, mode_cost)
        run = Run(config, corpus, folder=place.folder, locks=False, by_hand=unattended is None)
        yield stack.enter_context(run), replace(context, config=config)


async def _begin_version(place: Place, locked: Path, context: RunContext, corpus: Corpus, watch: RunCallbacks) -> None:
    if place.parent:
        watch.stage("carrying pairs over")
        with ExitStack() if place.parent == locked else hold_lock(place.parent):
            await refresh.begin_version(place.parent, place.folder, context, corpus)


def _adapt(context: RunContext, place: Place, unattended: Adapt | None) -> RunContext:
    """Return the context with the settings of an export or of an unattended run, and with its models."""
    config = keep_export_settings(place.parent or place.folder, context.config)
    config = unattended(config, place.folder) if unattended else config
    return replace(context, config=config, llm=prepare.model(config, folder=place.folder))


async def generate(
    config: RunConfig,
    folder: Path | None,
    watch: RunCallbacks,
    *,
    engine: Engine | None = None,
    export: bool = True,
    unattended: Adapt | None = None,
) -> RunResult:
    """Run all stages, for a new run, the one in `folder`, or the next version of a run whose corpus has changed.

    Its seeds run in this process, unless there is an `engine`. Without `export` the caller exports. `unattended` is for
    a run that no person started: `latest` does not follow it. Raises BudgetExceeded, and other errors that end the work
    on seeds, after exporting what there is.
    """
    async with open_run(config, folder, watch, unattended) as (run, context):
        exhaustion = None
        try:
            await run_seeds(run, context, watch, engine)
        except BudgetExceeded as error:
            exhaustion = error
        if export:
            export_run(run, watch)
        if exhaustion:
            raise exhaustion
        return run.result()


async def run_seeds(run: Run, context: RunContext, watch: RunCallbacks, engine: Engine | None = None) -> None:
    """Run all owed seeds in this process, or with the workers of an engine, which starts only if seeds are owed."""
    policy = run.config.gates.banded_policy
    if policy and policy not in run.config.models.policies and not run.complete:
        # Unmeasured pairs are left out, so the run would use up all its seeds.
        raise UsageError(
            f"this run has no policy '{policy}' for which its new pairs could be measured. Start a new run with "
            f"[models.policies.{policy}] in the settings, or export without it: digsite export --for ''"
        )
    if engine is None:
        watch.stage("running seeds")
        await run.execute(partial(run_seed, context=context), watch)
    elif run.complete:
        run.begin(watch)
    else:
        watch.stage("starting workers")
        try:
            with engine(run.config.runtime) as submit:
                watch.stage("running seeds")
                async with Batches(run, context.lineage.corpus_fingerprint, submit) as batches:
                    await run.execute(batches.run_seed, watch, at_work=batches.at_work)
        finally:
            take_left(run.folder, prepare.cache_path(run.config))


def export_run(run: Run, watch: RunCallbacks) -> None:
    run.begin(watch)  # has not been called if no seed was owed
    watch.stage("exporting")
    # Lost seeds that could not be run again, for example for lack of budget, are logged and do not stop the export.
    publish.dataset(run.folder, run.config, damaged=True, allow_removal=run.config.runtime.allow_removal)
    watch.stage("writing the report")
    publish.report(run.folder, run.config)
