"""`digsite generate` as a Prefect flow: corpus → index → batches of seeds → export → report.

The journal is the source of truth; Prefect only schedules and displays. So a task that ran twice or was lost changes
nothing. A batch of seeds is one task. Tasks hand nothing to each other through Prefect, which would look into every
value: they share the job. All of it runs in one event loop of one process, because a process that has started Java must
not fork.
"""

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar
from functools import partial
from pathlib import Path
from textwrap import fill
from uuid import UUID

import polars as pl
from prefect import flow, runtime, task
from prefect.artifacts import (
    acreate_markdown_artifact,
    acreate_progress_artifact,
    acreate_table_artifact,
    aupdate_progress_artifact,
)
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import State
from prefect.states import Cancelled, Completed, Crashed, Failed

from pipeline.analysis.figures import ACCEPTED
from pipeline.cli.console import DEMO
from pipeline.config import RunConfig
from pipeline.errors import BudgetExceeded, DigsiteError, Interrupted, RunLocked
from pipeline.exports.card.card import code, fence
from pipeline.exports.card.glossary import gloss
from pipeline.run import Run, RunResult, publish
from pipeline.run.job import Job
from pipeline.types import by_demo

logger = logging.getLogger(__name__)
PER_WORKER = 16
"""Seeds in a batch for each at work: a batch ends with its slowest seed, and until then the endpoint idles."""
EVERY = 3.0
"""Seconds between two updates of the progress artifact."""
WIDTH = 88
"""Characters of a line in the report artifact: Prefect does not break them."""


_given: ContextVar[tuple[Job, asyncio.Future[RunResult]]] = ContextVar("given")
"""What a command hands to its flow: the job, and its outcome, known before Prefect's server has heard of it."""


async def run(job: Job, *, own: bool) -> RunResult:
    """The job as a flow run. Raises what ended it early.

    Prefect's server may go away meanwhile: the run does not need it. One of our `own` knows the runs of one folder.
    """
    outcome: asyncio.Future[RunResult] = asyncio.get_running_loop().create_future()
    _given.set((job, outcome))
    name = f"{job.folder.parent.name}/{job.folder.name}"
    try:
        if own:
            await noted(end_killed({"name": {"any_": [name]}}))
        await generate(name)
    except Exception as error:
        if not outcome.done():
            raise
        if not isinstance(error, DigsiteError):
            logger.warning("Prefect's server does not know how this run ended: %s", error)
    return outcome.result()


@flow(name="digsite-generate", flow_run_name="{run}", persist_result=False)
async def generate(run: str) -> RunResult | State[DigsiteError]:
    """Make the pairs that the settings of a run (`wiki/1cf55c09cfcb`) ask for."""
    job, outcome = _from_command()
    try:
        result = await stages(job)
    except DigsiteError as error:
        outcome.set_exception(error)
        return ended(error)
    outcome.set_result(result)
    return result


def _from_command() -> tuple[Job, asyncio.Future[RunResult]]:
    """Prefect sends the flow's own code to workers, and a context variable cannot travel."""
    return _given.get()


async def end_killed(which: dict[str, object]) -> None:
    """End what Prefect shows as running although its process was killed: who holds the lock is alone at work."""
    running = {"state": {"type": {"any_": ["RUNNING"]}}}
    async with get_client() as client:
        left = await client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(running | which))
        killed = [one.id for one in left if one.id != runtime.flow_run.id]
        if killed:
            below = {"parent_flow_run_id": {"any_": killed}}
            left = await client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(running | below))
            state: State[object] = Crashed(message="its process was killed; a later run continued")
            for one in (*killed, *(child.id for child in left)):
                await client.set_flow_run_state(one, state, force=True)


def ended(error: DigsiteError) -> State[DigsiteError]:
    """The state of a flow run that the error ended, in one line: raised, it would be a page of Prefect's own code.

    A budget that is used up is an end as good as any; who is at work elsewhere, or was told to stop, has not failed.
    """
    if isinstance(error, BudgetExceeded):
        return Completed(message=str(error).partition(";")[0], data=error)
    state = Cancelled if isinstance(error, Interrupted | RunLocked) else Failed
    return state(message=str(error), data=error)


async def stages(job: Job, *, export: bool = True) -> RunResult:
    """All of them, each as a task. Raises BudgetExceeded, as all that ends the work on seeds, but only once what there
    is was exported. Without `export` somebody else does that.
    """
    await stage("corpus", job.read)
    await stage("index", job.index)
    with job.open() as run:
        over = asyncio.Event()
        following = asyncio.create_task(_follow(job, over))
        try:
            spent = await _seeds(job, run)
        finally:
            over.set()
            await following
        if export:
            await stage("export", job.export)
            await stage("report", job.report)
        result = run.result()
    await noted(_funnel(result, job.config))
    if export:
        await noted(report(job.folder, job.config))
    if spent:
        raise spent
    return result


async def _seeds(job: Job, run: Run) -> BudgetExceeded | None:
    """All batches, or those that the budget allowed; those of an engine are tasks of its own workers."""
    if job.config.how.engine == "local":
        for number, keys in enumerate(run.batches(PER_WORKER * job.config.seeds_at_work())):
            if spent := await stage(f"batch-{number}", partial(job.run_seeds, keys)):
                return spent
    else:
        from pipeline.flow import engines

        try:
            await job.run_seeds_by(engines.started)
        except BudgetExceeded as error:
            return error
    return None


# No retries: a seed that the outside broke is tried again within its batch, and a broken disk stays broken.
@task(task_run_name="{name}", cache_policy=NO_CACHE, persist_result=False)
async def stage(name: str, work: Callable[[], object]) -> BudgetExceeded | None:
    """One part of the work. That the budget is used up is no failure of it."""
    try:
        result = work()
        if isinstance(result, Awaitable):
            await result
    except BudgetExceeded as error:
        return error
    return None


async def _follow(job: Job, over: asyncio.Event) -> None:
    """A progress artifact, kept up to date until it is over."""
    artifact = await noted(
        acreate_progress_artifact(progress=0.0, key=_key(job.folder, "progress"), description=str(job.folder))
    )
    how = job.config.how.share()
    while isinstance(artifact, UUID):
        with suppress(TimeoutError):
            await asyncio.wait_for(over.wait(), EVERY)
        result = job.run.result()
        done, wanted = (result.accepted, how.pairs) if how.seeds is None else (result.planned, how.seeds)
        await noted(aupdate_progress_artifact(artifact, progress=100.0 * min(done / max(wanted, 1), 1.0)))
        if over.is_set():
            return


def _key(folder: Path, name: str) -> str:
    """The key of an artifact: under it Prefect shows what it was after each run of the corpus."""
    corpus = re.sub(r"[^a-z0-9]+", "-", folder.parent.name.lower()).strip("-")
    return f"digsite-{corpus}-{name}"


def _made_with(config: RunConfig) -> str:
    names = config.models.names()
    demo = f"{DEMO[0].upper()}{DEMO[1:]}."
    return demo if by_demo(names) else f"Made with {code(names)}."


async def _funnel(result: RunResult, config: RunConfig) -> None:
    counts = {"accepted": result.accepted, **result.reasons}
    rows = [(name, count, gloss(name).partition(". ")[0]) for name, count in counts.items()]
    rows = [("planned", result.planned, "All seeds of the plan that have ended."), *rows]
    table = [dict(zip(("seeds", "count", "meaning"), row, strict=True)) for row in rows]
    await acreate_table_artifact(table=table, key=_key(result.folder, "funnel"), description=_made_with(config))


async def report(folder: Path, config: RunConfig, published: str = "") -> None:
    """What can be read of a run in Prefect's own pages, which follow no link to a file."""
    seeds = publish.RunRecords(folder, config).seeds()
    ((planned, accepted),) = seeds.select(pl.len(), ACCEPTED.sum()).collect().rows()
    pairs = seeds.filter(ACCEPTED).head(3).select("question", "answer").collect().rows()
    lines = [
        f"{accepted:,} of {planned:,} seeds were accepted.",
        "The report is on the machine that made it:",
        fence(str((folder / "report.html").resolve())),
        *([f"Published: {published}"] if published else []),
        *(fence(f"{fill(f'Question: {question}', WIDTH)}\nAnswer: {answer}") for question, answer in pairs),
        _made_with(config),
    ]
    await acreate_markdown_artifact(markdown="\n\n".join(lines), key=_key(folder, "report"), description=lines[0])


async def noted(artifact: Awaitable[object]) -> object:
    """An artifact is a view: a server that does not take it must not end the run."""
    try:
        return await artifact
    except Exception as error:  # noqa: BLE001 - a run does not end with its display
        logger.warning("Prefect took no artifact: %s", error)
        return None
