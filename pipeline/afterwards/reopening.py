"""Open an existing run, work on its records, and keep each result beside its journal.

`branch`, `complete` and `remeasure` share this.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pipeline.agents import grading
from pipeline.agents.judge import grade
from pipeline.config import RunConfig
from pipeline.context import RunContext
from pipeline.errors import DeadlineExceeded, FormatError, ProviderError, RequestRefused, UsageError
from pipeline.llm.deadline import with_timeouts
from pipeline.llm.ledger import Spent
from pipeline.run import prepare, publish, read, tool_modes
from pipeline.run.coordinator import Run
from pipeline.run.locate import reopen
from pipeline.store.lock import hold_lock
from pipeline.types import Draft, GradedRollout, Rollout


@contextmanager
def open_run(
    run: str | Path,
    out: Path | None,
    recast: Callable[[RunConfig], RunConfig] = lambda config: config,
    spent: Callable[[Path, RunConfig], Spent] | None = None,
) -> Iterator[tuple[Run, RunContext]]:
    """Open and lock a run with all that its episodes need.

    Args:
        recast: Changes how episodes are run, not what the run is.
        spent: Returns what has already used up part of the budget.

    Raises UsageError if the run cannot go on (see `resumable`), its journal is damaged, or its retriever does not start
    on this machine.
    """
    folder, run_config = reopen(run, out)
    publish.check_lost_seeds(folder)
    config = recast(run_config)
    prepare.reach(config)
    config = tool_modes.resolve(config, (), known_models=run_config.models)
    with hold_lock(folder):
        corpus = prepare.corpus(config, read(folder).corpus_fingerprint)
        context = prepare.context(config, corpus, spent(folder, config) if spent else None)
        if context.config != config:
            raise UsageError(
                f"{folder} was made with {config.retrieval.retriever}, which does not start here: see digsite doctor"
            )
        with Run(run_config, corpus, folder=folder, locks=False) as opened:
            yield opened, context


async def make_graded_rollout(
    draft: Draft, start: Callable[[], Awaitable[Rollout]], context: RunContext
) -> GradedRollout:
    """Make a rollout within its time limit, and grade it. Raises ProviderError if clock, server or judge fail it."""
    try:
        rollout = await with_timeouts(start, context.config.runtime.rollout_seconds)
        grades = await grade(draft, rollout.answer, context, ask=grading.is_supported(draft, rollout))
    except DeadlineExceeded as error:
        raise ProviderError("a rollout hit its time limit twice; repeat the command to continue") from error
    except FormatError as error:
        raise ProviderError(f"{error}; repeat the command to continue, or choose another judge") from error
    except RequestRefused as error:
        raise ProviderError(f"{error}; repeat the command to continue") from error
    return GradedRollout(rollout, grading.build_verdict(draft, rollout, grades))
