"""The flows of deployments: `grow` continues a run, every night, and `publish` passes its data set on.

`grow` calls `publish` itself, so that no event, automation or second schedule has to outlive a restart of Prefect's
server or the loss of its database. For the same reason a lock, and no concurrency limit of Prefect's, keeps a corpus to
one `grow` at a time: a limit is a lease that the server forgets when it restarts, whereupon it ends the run that held
it, and that a killed run holds for minutes. The lock ends with its process.

Nothing of `grow` is repeated the same night: a seed that the endpoint failed was tried again within its batch, and the
next night goes on where this one stopped. What `publish` does may be repeated at will.
"""

import asyncio
import os
from pathlib import Path
from typing import Any

from prefect import flow, runtime
from prefect.client.schemas.objects import State, TaskRun
from prefect.states import Completed, Failed
from prefect.tasks import Task

from pipeline.config import RunConfig, build
from pipeline.errors import BudgetExceeded, DigsiteError, HubError, ProviderError, RetrievalError, UsageError
from pipeline.exports import hub_upload
from pipeline.flow.display import end_killed, ended, follow, funnel, report, stage
from pipeline.flow.shown import Shown
from pipeline.run import LogCallbacks, RunResult, prepare, stages, tool_modes
from pipeline.run import publish as publishing
from pipeline.run import read as run_file
from pipeline.run.attempts import total_spending
from pipeline.run.locate import run_folder
from pipeline.store.lock import hold_lock

DELAYS = [30.0, 300.0, 900.0]
"""Seconds before the Hub is asked again that did not answer."""


@flow(name="digsite-grow", flow_run_name="grow {config}", persist_result=False)
def grow(config: str, repo: str = "", public: bool = False) -> State[Any]:
    """Continue the run of the settings at `config` (TOML) until it has its pairs or the budget of the night is used up,
    then publish it, to the repository `repo` of the Hugging Face Hub if there is one.

    The budgets in the settings are those of one night.
    """
    try:
        settings = read(Path(config))
        prepare.reach(settings)
        settings = tool_modes.resolve(prepare.absolute_paths(settings))
        with hold_lock(settings.folder().parent):
            if mine := runtime.deployment.id:
                end_killed({"deployment_id": {"any_": [mine]}})
            return _night(settings, repo, public=public)
    except DigsiteError as error:
        return ended(error)


def _night(config: RunConfig, repo: str, *, public: bool) -> State[Any]:
    """What the endpoint or the index ended is published too, and fails all the same."""
    before, shown = publishing.last_result(config.folder()), Shown(LogCallbacks())
    over = ""
    try:
        with shown.shown_by(follow):
            engine = None if config.how.engine == "local" else shown.engine
            config = of_night(config, config.folder())
            asyncio.run(stages.generate(config, None, shown, engine=engine, export=False))
    except BudgetExceeded:
        over = "; the budget of the night is used up, and the next run continues"
    except (ProviderError, RetrievalError):
        if before or shown.run:
            publish(str(shown.run.folder if shown.run else config.folder()), repo, public, return_state=True)
        raise
    assert shown.run  # noqa: S101 - it has run
    folder = shown.run.folder
    funnel(folder, config)
    line = progress_line(shown.run.result(), before, config) + over
    try:
        return Completed(message=f"{line}; {publish(str(folder), repo, public)}")
    except DigsiteError as error:
        return Failed(message=f"{line}; not published: {error}", data=error)


def read(path: Path) -> RunConfig:
    """Raises UsageError where there are no settings at `path`, or they are none."""
    if not path.is_file():
        raise UsageError(
            f"no file of settings at {path.absolute()}: the flow's `config` is the path of a TOML file, such as "
            "docs/nightly.toml, as its worker sees it"
        )
    return build(file=path)


def of_night(config: RunConfig, folder: Path) -> RunConfig:
    """Return the same settings with the budgets of one night on top of what the run in `folder` has used up before."""
    before, how = total_spending(folder).total, config.how
    return config.with_how(
        budget_tokens=how.budget_tokens and before.paid.total_tokens + how.budget_tokens,
        budget_money=how.budget_money and (before.money or 0.0) + how.budget_money,
    )


def progress_line(result: RunResult, before: RunResult | None, config: RunConfig) -> str:
    """How the run stands, in a line."""
    how = config.how
    new = result.accepted - (before.accepted if before else 0)
    line = f"{result.accepted:,} of {how.pairs:,} pairs, {new:,} of them new"
    if how.seeds is not None:
        line = f"{result.planned:,} of {how.seeds:,} seeds gave {result.accepted:,} pairs, {new:,} of them new"
    return f"{line}; the most seeds were tried: raise how.max_seeds" if result.exhausted else line


def may_pass(task: Task[..., object], task_run: TaskRun, state: State[Any]) -> bool:
    """Is it worth asking the Hub again?"""
    return isinstance(state.data, HubError) and not state.data.lasting


@flow(name="digsite-publish", flow_run_name="publish {run}", persist_result=False)
def publish(run: str, repo: str = "", public: bool = False) -> State[Any]:
    """Export a run (`wiki/latest`, or a folder) and write its report; with `repo`, send the data set to that repository
    of the Hugging Face Hub, private unless `public`. The token is HF_TOKEN's, in the environment of the worker.
    """
    done: list[str] = []

    def export() -> None:
        made = publishing.dataset(folder, kept.config)
        rows = sum(sum(splits.values()) for splits in made.rows().values())
        done.append(f"{rows:,} rows in {len(made.rows())} views in {folder / 'dataset'}")

    def send() -> None:
        plan = hub_upload.upload_plan(folder / "dataset", kept.config.models.names(), repo, private=not public)
        done.append(hub_upload.push(plan, f"Run {kept.digest[:12]}", endpoint=os.environ.get("HF_ENDPOINT")))

    try:
        folder = run_folder(run)
        with hold_lock(folder):
            kept = run_file(folder)
            stage("export", export)
            stage("report", lambda: publishing.report(folder, kept.config))
            if repo:
                again = stage.with_options(retries=len(DELAYS), retry_delay_seconds=DELAYS, retry_condition_fn=may_pass)
                again("push", send)
    except DigsiteError as error:
        return ended(error)
    line = f"published: {', '.join(done)}"
    report(folder, kept.config, done[-1] if repo else "")
    return Completed(message=line, data=line)
