"""`digsite generate` as a Prefect flow: a task for each stage of the run, its progress, and what came of it.

The journal is the source of truth; Prefect only displays. The run goes on by itself and tells `Shown` of its stages,
which a flow in another thread shows once Prefect's server is there. So the run neither waits for the server nor ends
with it, and it gives the same bytes without.
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
from pipeline.errors import BudgetExceeded, DigsiteError, Interrupted, RunLocked
from pipeline.exports.card.card import code, fence
from pipeline.exports.card.glossary import gloss
from pipeline.flow.shown import Shown
from pipeline.run import publish
from pipeline.types import DEMO_NOTE, by_demo

logger = logging.getLogger(__name__)
EVERY = 3.0
"""Seconds between two updates of the progress artifact."""
WIDTH = 88
"""Characters of a line in the report artifact: Prefect does not break them."""

_given: ContextVar[Shown] = ContextVar("given")


def show(name: str, shown: Shown, *, own: bool) -> None:
    """Show a run as the flow run `name`, until it ends. A server of our `own` knows the runs of one folder."""
    # Of the root, where no setting of Prefect's reaches it: at the end it tells how much it still has to send.
    logging.getLogger("EventsWorker").setLevel(logging.ERROR)
    _given.set(shown)
    if own:
        noted(end_killed, which={"name": {"any_": [name]}})
    generate(name, return_state=True)


@flow(name="digsite-generate", flow_run_name="{run}", persist_result=False)
def generate(run: str) -> State[object]:
    """Make the pairs that the settings of a run (`wiki/1cf55c09cfcb`) ask for."""
    try:
        shown = _from_command()
        follow(shown)
    except DigsiteError as error:
        return ended(error)
    if shown.run:
        funnel(shown.run.folder, shown.run.config)
        report(shown.run.folder, shown.run.config)
    return ended(shown.failed) if isinstance(shown.failed, BudgetExceeded) else Completed()


def _from_command() -> Shown:
    """Prefect sends the flow's own code to workers, and a context variable cannot travel."""
    return _given.get()


def follow(shown: Shown) -> None:
    """Show a run in the flow run that this is called in: its stages as tasks, and its progress. Raises what ended it
    early, but for a budget."""
    shown.joined.set_result(copy_context())
    artifact: object = None

    def until_ended(ended: Future[None]) -> None:
        nonlocal artifact
        over = False
        while not over:
            over = bool(wait([ended], EVERY).done)
            if (run := shown.run) is None:
                continue
            done = 100.0 * run.progress()
            if artifact is None:
                key, folder = _key(run.folder, "progress"), str(run.folder)
                artifact = noted(artifacts.create_progress_artifact, progress=done, key=key, description=folder)
            elif isinstance(artifact, UUID):
                noted(artifacts.update_progress_artifact, artifact_id=artifact, progress=done)
            get_run_logger().info("%.0f %% of the plan is done", done)
        ended.result()

    for name, ended in shown:
        stage(name, partial(until_ended, ended))


# No retries: a seed that the outside broke is tried again within its stage, and a broken disk stays broken.
@task(task_run_name="{name}", cache_policy=NO_CACHE, persist_result=False)
def stage(name: str, work: Callable[[], object]) -> None:
    """A part of the work."""
    work()


def end_killed(which: dict[str, object]) -> None:
    """End what Prefect shows as running although its process was killed: who holds the lock is alone at work."""
    running = {"state": {"type": {"any_": ["RUNNING"]}}}
    with get_client(sync_client=True) as client:
        left = client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(running | which))
        killed = [one.id for one in left if one.id != runtime.flow_run.id]
        if killed:
            below = {"parent_flow_run_id": {"any_": killed}}
            left = client.read_flow_runs(flow_run_filter=FlowRunFilter.model_validate(running | below))
            state: State[object] = Crashed(message="its process was killed; a later run continued")
            for one in (*killed, *(child.id for child in left)):
                client.set_flow_run_state(one, state, force=True)


def ended(error: DigsiteError) -> State[object]:
    """The state of a flow run that the error ended, in one line: raised, it would be a page of Prefect's own code.

    A budget that is used up is an end as good as any; who is at work elsewhere, or was told to stop, has not failed.
    """
    if isinstance(error, BudgetExceeded):
        return Completed(message=str(error).partition(";")[0], data=error)
    state = Cancelled if isinstance(error, Interrupted | RunLocked) else Failed
    return state(message=str(error), data=error)


def _key(folder: Path, name: str) -> str:
    """The key of an artifact: under it Prefect shows what it was after each run of the corpus."""
    corpus = re.sub(r"[^a-z0-9]+", "-", folder.parent.name.lower()).strip("-")
    return f"digsite-{corpus}-{name}"


def _made_with(config: RunConfig) -> str:
    names = config.models.names()
    demo = f"{DEMO_NOTE[0].upper()}{DEMO_NOTE[1:]}."
    return demo if by_demo(names) else f"Made with {code(names)}."


def funnel(folder: Path, config: RunConfig) -> None:
    """Show how many seeds ended how."""
    if (result := publish.last_result(folder)) is None:
        return
    counts = {"accepted": result.accepted, **result.reasons}
    rows = [(name, count, gloss(name).partition(". ")[0]) for name, count in counts.items()]
    rows = [("planned", result.planned, "All seeds of the plan that have ended."), *rows]
    table = [dict(zip(("seeds", "count", "meaning"), row, strict=True)) for row in rows]
    made_with = _made_with(config)
    noted(artifacts.create_table_artifact, table=table, key=_key(folder, "funnel"), description=made_with)


def report(folder: Path, config: RunConfig, published: str = "") -> None:
    """Show what can be read of a run in Prefect's own pages, which follow no link to a file."""
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
    markdown, key = "\n\n".join(lines), _key(folder, "report")
    noted(artifacts.create_markdown_artifact, markdown=markdown, key=key, description=lines[0])


def noted(artifact: Callable[..., object], **shown: object) -> object:
    """An artifact is a view: a server that does not take it must not end the run. False where it does not."""
    try:
        return artifact(**shown)
    except Exception as error:  # noqa: BLE001 - a run does not end with its display
        logger.warning("Prefect took no artifact: %s", error)
        return False
