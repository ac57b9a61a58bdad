"""The stages of `generate`: read, index, run seeds, export, report. `in_process` runs them one after another, the
Prefect flow as its tasks; since both run these, both give the same bytes.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path

from pipeline.config import RunConfig
from pipeline.config.how import How
from pipeline.context import RunContext
from pipeline.corpus import Corpus
from pipeline.corpus.language import english
from pipeline.corpus.unread import in_words
from pipeline.errors import BudgetExceeded
from pipeline.loop.episode import run_seed
from pipeline.run import Run, RunResult, Watch, facts, prepare, targets
from pipeline.run.batches import Batches, Submit
from pipeline.run.plan import askable
from pipeline.run.resume import unchanged
from pipeline.store.lock import locked
from pipeline.store.shard_merge import take_left

logger = logging.getLogger(__name__)


def read(config: RunConfig, watch: Watch) -> Corpus:
    """The corpus, with a word on what was left out of it. Raises where no pair could be made or passed on."""
    prepare.engine(config)
    watch.stage("reading the corpus")
    corpus = prepare.corpus(config)
    prepare.gates(config, corpus.manifest)
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
    for note in corpus.counts.noted:
        logger.warning("%s: %s", name, note)
    if files := in_words(corpus.counts.skipped):
        logger.warning("%s: %s", name, files)
    return corpus


class Job:
    """One `generate` under way. The stages are called in the order in which they stand here."""

    corpus: Corpus
    context: RunContext
    run: Run

    def __init__(self, config: RunConfig, watch: Watch, folder: Path | None = None) -> None:
        # `resume` may be called from another folder than this command was.
        self.config, self.watch, self._given = prepare.rooted(config), watch, folder
        self.folder = folder or self.config.folder()
        self._lock = ExitStack()

    @contextmanager
    def _claimed(self) -> Iterator[None]:
        """Lock the run's folder, until the run closes or the body fails: a second process is to be refused at once, not
        after it has read the corpus.
        """
        self._lock.close()
        with ExitStack() as stack:
            stack.enter_context(locked(self.folder))
            yield
            self._lock = stack.pop_all()

    def read(self) -> None:
        """Once: who starts a server for the rest reads the corpus meanwhile, and the stage has nothing left to do."""
        if not hasattr(self, "corpus"):
            with self._claimed():
                self.corpus = read(self.config, self.watch)
                # The run would refuse other texts too, but only once they are indexed.
                unchanged(self.folder, self.config, self.corpus.fingerprint)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Between `read` and `open`: the folder stays locked, unless the body fails."""
        try:
            yield
        except BaseException:
            self._lock.close()
            raise

    def index(self) -> None:
        """Once, as `read`."""
        if hasattr(self, "context"):
            return
        self.watch.stage("opening the index and the links" if self.config.walks else "opening the index")
        with self.held():
            if not self._given:  # else the run has begun
                targets.check(self.config, self.corpus)
            take_left(self.folder, prepare.answers(self.config))
            self.context = prepare.context(self.config, self.corpus)
        if self.context.config != self.config:
            # Without Java another engine stands in, and what it finds is another run. A run that is resumed refuses it.
            self.config = self.context.config
            self.folder = self._given or self.config.folder()
            with self._claimed():
                pass
        facts.keep(self.folder, self.corpus)

    def open(self) -> Run:
        """The run, to be entered around all that follows."""
        self.run = Run(self.config, self.corpus, folder=self.folder, lock=self._lock.pop_all())
        return self.run

    async def run_seeds(self, keys: tuple[str, ...] | None = None) -> None:
        """A batch of seeds, or everything that is owed."""
        self.watch.stage("running seeds")
        if keys is None:
            await self.run.execute(partial(run_seed, context=self.context), self.watch)
        else:
            await self.run.run_batch(keys, partial(run_seed, context=self.context), self.watch)

    async def run_seeds_by(self, engine: Callable[[How], AbstractContextManager[Submit]]) -> None:
        """Everything that is owed, by the workers of an engine, which starts if anything is."""
        if next(self.run.batches(), None) is None:
            return
        self.watch.stage("starting workers")
        try:
            with engine(self.config.how) as submit:
                self.watch.stage("running seeds")
                async with Batches(self.run, self.corpus.fingerprint, submit) as batches:
                    await self.run.execute(batches.run_seed, self.watch, at_work=batches.at_work)
        finally:
            take_left(self.folder, prepare.answers(self.config))

    def export(self) -> None:
        self.run.begin(self.watch)  # where no seed was owed
        self.watch.stage("exporting")
        # What could not be run again, as where the budget is used up, is logged and holds back nothing that is there.
        from pipeline.run import publish

        publish.dataset(self.folder, self.config, damaged=True)

    def report(self) -> Path:
        self.watch.stage("writing the report")
        from pipeline.run import publish

        return publish.report(self.folder, self.config)


async def straight(job: Job) -> RunResult:
    """All stages in this process, without Prefect. Raises BudgetExceeded once what there is was exported."""
    job.read()
    job.index()
    with job.open() as run:
        spent = None
        try:
            await job.run_seeds()
        except BudgetExceeded as error:
            spent = error
        job.export()
        job.report()
        if spent:
            raise spent
        return run.result()
