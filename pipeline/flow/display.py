"""`digsite generate` as a Prefect flow: a task for each stage of the run, its progress and its results.

The journal is the source of truth; Prefect only displays. The run is independent and reports its stages to a `RunFeed`,
which a flow in another thread displays once Prefect's server answers. So the run neither waits for the server nor ends
with it, and gives the same bytes without it.
"""

import logging
import re
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextvars import ContextVar, copy_context
from functools import partial
from pathlib import Path
from textwrap import fill
from uuid import UUID

import polars as pl
from prefect import artifacts, flow, get_run_logger, runtime, task
from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.filters import FlowRunFilter
from prefect.client.schemas.objects import State
from prefect.states import Cancelled, Completed, Crashed, Failed

from pipeline.analysis.figures import ACCEPTED
from pipeline.config import RunConfig
from pipeline.errors import BudgetExceeded, DigsiteError, Interrupted, RunLocked, UsageError
from pipeline.exports.card.card import code, fence
from pipeline.exports.card.glossary import gloss
from pipeline.exports.data_set import read_manifest
from pipeline.flow.shown import RunFeed
from pipeline.run import publish, versions
from pipeline.types import DEMO_NOTE, by_demo

logger = logging.getLogger(__name__)
EVERY = 3.0
"""Seconds between two updates of the progress artifact."""
WIDTH = 88
"""Most characters of a line in the report artifact, where Prefect does not break lines."""

_feed: ContextVar[RunFeed] = ContextVar("feed")


def show(name: str, feed: RunFeed, *, is_own_server: bool) -> None:
    """Display a run as the flow run `name` until it ends. Our own server knows only the runs of one folder."""
    # Prefect's settings do not cover this logger, which reports at the end how much is still to be sent.
    logging.getLogger("EventsWorker").setLevel(logging.ERROR)
    _feed.set(feed)
    if is_own_server:
        call_prefect(end_killed, which={"name": {"any_": [name]}})
    generate(name, return_state=True)


@flow(name="digsite-generate", flow_run_name="{run}", persist_result=False)
def generate(run: str) -> State[object]:
    """Make the pairs that the settings of a run (`wiki/1cf55c09cfcb`) ask for."""
    try:
        feed = _get_feed()
        follow(feed)
    except DigsiteError as error:
        return build_end_state(error)
    if feed.run:
        show_funnel(feed.run.folder, feed.run.config)
        show_report(feed.run.folder, feed.run.config)
    return build_end_state(feed.failure) if isinstance(feed.failure, BudgetExceeded) else Completed()


def _get_feed() -> RunFeed:
    # Not in the flow itself: Prefect sends its code to workers, where a context variable cannot go.
    return _feed.get()


def follow(feed: RunFeed) -> None:
    """Display a run in the current flow run: its stages as tasks, and its progress.

    Raises the error that ended the run early, unless it is a budget.
    """
    feed.joined.set_result(copy_context())
    artifact: object = None

    def wait_for_end(stage_end: Future[None]) -> None:
        nonlocal artifact
        has_ended = False
        while not has_ended:
            has_ended = bool(wait([stage_end], EVERY).done)
            if (run := feed.run) is None:
                continue
            percent = 100.0 * run.progress()
            if artifact is None:
                key, folder = _artifact_key(run.folder, "progress"), str(run.folder)
                create = artifacts.create_progress_artifact
                artifact = call_prefect(create, progress=percent, key=key, description=folder)
            elif isinstance(artifact, UUID):
                call_prefect(artifacts.update_progress_artifact, artifact_id=artifact, progress=percent)
            get_run_logger().info("%.0f %% of the plan is done", percent)
        stage_end.result()

    for name, stage_end in feed:
        stage(name, partial(wait_for_end, stage_end))


# No retries: a seed that failed for outside reasons is retried within its stage, and a broken disk stays broken.
@task(task_run_name="{name}", cache_policy=NO_CACHE, persist_result=False)
def stage(name: str, work: Callable[[], object]) -> None:
    """Run a part of the work."""
    work()


def end_killed(which: dict[str, object]) -> None:
    """End flow runs that Prefect shows as running although their process was killed.

    The caller holds the lock, so that no other process can be running.
    """
    is_running = {"state": {"type": {"any_": ["RUNNING"]}}}
    with get_client(sync_client=True) as client:
        flow_runs = client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(is_running | which))
        killed_ids = [flow_run.id for flow_run in flow_runs if str(flow_run.id) != runtime.flow_run.id]
        if killed_ids:
            is_child = {"parent_flow_run_id": {"any_": killed_ids}}
            children = client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(is_running | is_child))
            state: State[object] = Crashed(message="its process was killed; a later run continued")
            for flow_run_id in (*killed_ids, *(child.id for child in children)):
                client.set_flow_run_state(flow_run_id, state, force=True)


def build_end_state(error: DigsiteError) -> State[object]:
    """Build the state of a flow run that the error ended, since Prefect would print a raised error with a traceback.

    A used-up budget is a normal end. A run that is locked by another process or was interrupted has not failed.
    """
    if isinstance(error, BudgetExceeded):
        return Completed(message=str(error).partition(";")[0], data=error)
    state = Cancelled if isinstance(error, Interrupted | RunLocked) else Failed
    return state(message=str(error), data=error)


def _artifact_key(folder: Path, name: str) -> str:
    corpus = re.sub(r"[^a-z0-9]+", "-", folder.parent.name.lower()).strip("-")
    return f"digsite-{corpus}-{name}"


def _describe_models(config: RunConfig) -> str:
    names = config.models.names()
    demo = f"{DEMO_NOTE[0].upper()}{DEMO_NOTE[1:]}."
    return demo if by_demo(names) else f"Made with {code(names)}."


def show_funnel(folder: Path, config: RunConfig) -> None:
    if (result := publish.last_result(folder)) is None:
        return
    counts = {"accepted": result.accepted, **result.reasons}
    rows = [(name, count, gloss(name).partition(". ")[0]) for name, count in counts.items()]
    rows = [("planned", result.planned, "All seeds of the plan that have ended."), *rows]
    table = [dict(zip(("seeds", "count", "meaning"), row, strict=True)) for row in rows]
    key = _artifact_key(folder, "funnel")
    call_prefect(artifacts.create_table_artifact, table=table, key=key, description=_describe_models(config))


def show_report(folder: Path, config: RunConfig, published: str = "") -> None:
    """Display a summary of a run. It names the report's path, since a browser opens no file from Prefect's pages."""
    version = versions.read_version(folder)
    seeds = publish.RunRecords(folder, config).seeds()
    ((planned, accepted),) = seeds.select(pl.len(), ACCEPTED.sum()).collect().rows()
    pairs = seeds.filter(ACCEPTED).head(3).select("question", "answer").collect().rows()
    lines = [
        f"{accepted:,} of {planned:,} seeds were accepted.",
        *([f"Version {version.summary.number}: {version.summary}."] if version else []),
        "The report is on the machine that made it:",
        fence(str((folder / "report.html").resolve())),
        *([f"Published: {published}"] if published else []),
        *(fence(f"{fill(f'Question: {question}', WIDTH)}\nAnswer: {answer}") for question, answer in pairs),
        *_describe_lack(folder),
        _describe_models(config),
    ]
    markdown, key = "\n\n".join(lines), _artifact_key(folder, "report")
    call_prefect(artifacts.create_markdown_artifact, markdown=markdown, key=key, description=lines[0])


def _describe_lack(folder: Path) -> list[str]:
    try:
        manifest = read_manifest(folder / "dataset")
    except UsageError:  # nothing is exported yet
        return []
    return [] if manifest.has_rl else [f"No `rl_*`: {manifest.rewards.describe_lack()}."]


def call_prefect(function: Callable[..., object], **arguments: object) -> object:
    """Call Prefect, and return False after an error, which must not end the run."""
    try:
        return function(**arguments)
    except Exception as error:  # noqa: BLE001 - a run does not end with its display
        logger.warning("Prefect took no artifact: %s", error)
        return False
