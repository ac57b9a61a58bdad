"""The stages of `generate`: read the corpus, open the index, run seeds, export, report.

`RunCallbacks.stage` is told of each as it begins. A Prefect flow shows what it is told and does nothing else, so that a
run gives the same bytes with one and without.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path

from pipeline.config import RunConfig
from pipeline.config.runtime import Runtime
from pipeline.context import RunContext
from pipeline.corpus import Corpus
from pipeline.corpus.language import english
from pipeline.corpus.unreadable_files import in_words
from pipeline.errors import BudgetExceeded, UsageError
from pipeline.loop.episode import run_seed
from pipeline.run import Run, RunCallbacks, RunResult, facts, prepare, publish, targets, tool_modes
from pipeline.run.batches import Batches, Submit
from pipeline.run.plan import askable
from pipeline.run.resume import unchanged
from pipeline.store.lock import hold_lock
from pipeline.store.worker_answers import take_left

logger = logging.getLogger(__name__)


def read(config: RunConfig, watch: RunCallbacks) -> Corpus:
    """The corpus, with a word on what was left out of it. Raises where no pair could be made or passed on."""
    prepare.check_engine(config)
    watch.stage("reading the corpus")
    corpus = prepare.corpus(config)
    prepare.check_gates(config, corpus.manifest)
    askable(corpus)
    name = corpus.manifest.name
    if missing := corpus.counts.left_out:
        kept, whole = corpus.counts.kept, corpus.counts.read
        logger.warning("%s: %s of %s documents read; left out: %s", name, f"{kept:,}", f"{whole:,}", missing)
    if corpus.language_detected:
        logger.warning("%s: language %s (detected): say another with --language", name, corpus.language)
    if config.models.of("generator").capabilities.english_only and not english(corpus.passages):
        logger.warning("%s: the demo model reads English only, and most of these texts are not: choose a --model", name)
    if config.questions.unanswerable and not config.questions.twins(config.models):
        logger.warning(
            "the demo model makes no questions without an answer: choose a --model for questions.unanswerable"
        )
    for note in filter(None, [*corpus.counts.noted, in_words(corpus.counts.skipped)]):
        logger.warning("%s: %s", name, note)
    return corpus


Engine = Callable[[Runtime], AbstractContextManager[Submit]]
"""Opens the workers that run seeds in place of this process."""


@contextmanager
def opened(config: RunConfig, folder: Path | None, watch: RunCallbacks) -> Iterator[tuple[Run, RunContext]]:
    """The run, locked, and what its seeds work with; `folder` is that of a run which goes on.

    Without Java another engine stands in, and what it finds is another run, in a folder of its own; a run that goes on
    refuses it. So it is with models that are asked for calls in another way than by their server's own.
    """
    asked = folder or config.folder()
    with ExitStack() as stack:
        stack.enter_context(hold_lock(asked))  # before the corpus is read, so that a second process is refused at once
        corpus = read(config, watch)
        # The run would refuse a changed corpus too, but only once it is indexed.
        unchanged(asked, config, corpus.fingerprint)
        watch.stage("opening the index and the links" if config.uses_links else "opening the index")
        take_left(asked, prepare.cache_path(config))
        modes = None
        if folder is None:
            targets.check(config, corpus)
            config, modes = tool_modes.found(config)
        context = prepare.context(config, corpus)
        at_work = folder or context.config.folder()
        if at_work != asked:
            stack.close()
            stack.enter_context(hold_lock(at_work))
        facts.keep(at_work, corpus)
        if modes:
            tool_modes.note(at_work, modes)
        yield stack.enter_context(Run(context.config, corpus, folder=at_work, locks=False)), context


async def generate(
    config: RunConfig, folder: Path | None, watch: RunCallbacks, *, engine: Engine | None = None, export: bool = True
) -> RunResult:
    """All stages, for a run that begins or, in `folder`, goes on; its seeds run in this process, unless an `engine` is
    given. Raises BudgetExceeded, as all that ends the work on seeds, but only once what there is was exported.

    Without `export` somebody else does that.
    """
    with opened(config, folder, watch) as (run, context):
        spent = None
        try:
            await run_seeds(run, context, watch, engine)
        except BudgetExceeded as error:
            spent = error
        if export:
            export_run(run, watch)
        if spent:
            raise spent
        return run.result()


async def run_seeds(run: Run, context: RunContext, watch: RunCallbacks, engine: Engine | None = None) -> None:
    """Everything that is owed, by this process or by the workers of an engine, which starts if anything is."""
    policy = run.config.gates.banded_policy
    if policy and policy not in run.config.models.policies and not run.complete:
        # Every new pair would be left out, as not measured, until no seed is left.
        line = f"new pairs would not be measured for '{policy}', which is no policy of this run"
        raise UsageError(f"{line}: begin one with [models.policies.{policy}], or go back: digsite export --for ''")
    if engine is None:
        watch.stage("running seeds")
        await run.execute(partial(run_seed, context=context), watch)
    elif run.complete:
        run.begin(watch)
    else:
        watch.stage("starting workers")
        try:
            with engine(run.config.how) as submit:
                watch.stage("running seeds")
                async with Batches(run, context.lineage.corpus_fingerprint, submit) as batches:
                    await run.execute(batches.run_seed, watch, at_work=batches.at_work)
        finally:
            take_left(run.folder, prepare.cache_path(run.config))


def export_run(run: Run, watch: RunCallbacks) -> None:
    """Write the data set and the report of what there is."""
    run.begin(watch)  # where no seed was owed
    watch.stage("exporting")
    # What could not be run again, as where the budget is used up, is logged and holds back nothing that is there.
    publish.dataset(run.folder, run.config, damaged=True)
    watch.stage("writing the report")
    publish.report(run.folder, run.config)
