"""The flows of deployments: `grow` continues a run every night, and `publish` exports its data set.

`grow` calls `publish` itself, so that no event, automation or second schedule has to survive a restart of Prefect's
server or the loss of its database. For the same reason a lock, and not Prefect's concurrency limit, allows only one
`grow` per corpus at a time. A limit is a lease that a restarted server forgets, so that it ends the run that holds it,
and that a killed run keeps for minutes. The lock ends with its process.

`grow` has no retries: a seed that the endpoint failed was retried within its batch, and the next night continues where
this one stopped. `publish` may be repeated at any time.
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
from pipeline.config.run import slug
from pipeline.errors import BudgetExceeded, DigsiteError, HubError, ProviderError, RetrievalError, UsageError
from pipeline.exports import hub_upload
from pipeline.flow.display import build_end_state, end_killed, follow, show_funnel, show_report, stage
from pipeline.flow.shown import RunFeed
from pipeline.run import LogCallbacks, RunResult, prepare, read, stages, tool_modes
from pipeline.run import publish as publishing
from pipeline.run.attempts import total_spending
from pipeline.run.locate import run_folder
from pipeline.run.plan import bounds
from pipeline.run.versions import find_newest, format_tag, split_name
from pipeline.store.lock import hold_lock

DELAYS = [30.0, 300.0, 900.0]
"""Seconds before each retry if the Hub does not answer."""


@flow(name="digsite-grow", flow_run_name="grow {config}", persist_result=False)
def grow(config: str, repo: str = "", public: bool = False) -> State[Any]:
    """Continue the run of the settings at `config` (TOML), then publish it.

    The run ends when it has its pairs or the budget of the night is used up. If the corpus has changed, its next
    version begins. The name of the file of settings, or `runtime.name`, means the newest version: `wiki/nightly`. With
    `repo`, the data set goes to that repository of the Hugging Face Hub.
    """
    try:
        settings = read_settings(Path(config))
        if not settings.runtime.name:
            settings = settings.with_runtime(name=slug(config))
        prepare.reach(settings)
        settings = tool_modes.resolve(prepare.absolute_paths(settings))
        with hold_lock(settings.folder().parent):
            if deployment_id := runtime.deployment.id:
                end_killed({"deployment_id": {"any_": [deployment_id]}})
            return _run_night(settings, repo, public=public)
    except DigsiteError as error:
        return build_end_state(error)


def _run_night(config: RunConfig, repo: str, *, public: bool) -> State[Any]:
    newest = find_newest(config.folder())
    previous, feed = publishing.last_result(newest), RunFeed(LogCallbacks())
    budget_note, replaced_note = "", describe_replaced(config)
    try:
        with feed.displayed_by(follow):
            engine = None if config.runtime.engine == "local" else feed.engine
            night = stages.generate(config, None, feed, engine=engine, export=False, unattended=add_spent_budget)
            asyncio.run(night)
    except BudgetExceeded:
        budget_note = "; the budget of the night is used up, and the next run continues"
    except (ProviderError, RetrievalError):
        if previous or feed.run:
            publish(str(feed.run.folder if feed.run else newest), repo, public, return_state=True)
        raise
    assert feed.run  # noqa: S101 - the run has started, since it did not raise
    folder, config = feed.run.folder, feed.run.config
    show_funnel(folder, config)
    line = (
        format_progress(feed.run.result(), previous if folder == newest else None, config) + budget_note + replaced_note
    )
    try:
        return Completed(message=f"{line}; {publish(str(folder), repo, public)}")
    except DigsiteError as error:
        return Failed(message=f"{line}; not published: {error}", data=error)


def read_settings(path: Path) -> RunConfig:
    """Read the settings of a run. Raises UsageError if there is no file at `path`, or it has no valid settings."""
    if not path.is_file():
        raise UsageError(
            f"no file of settings at {path.absolute()}: the flow's `config` is the path of a TOML file, such as "
            "docs/nightly.toml, as its worker sees it"
        )
    return build(file=path)


def add_spent_budget(config: RunConfig, folder: Path) -> RunConfig:
    """Return the settings with budgets for one night plus what the run in `folder` has used up before."""
    spent, runtime = total_spending(folder).total, config.runtime
    return config.with_runtime(
        budget_tokens=runtime.budget_tokens and spent.paid.total_tokens + runtime.budget_tokens,
        budget_money=runtime.budget_money and (spent.money or 0.0) + runtime.budget_money,
    )


def format_progress(result: RunResult, previous: RunResult | None, config: RunConfig) -> str:
    """Return how far the run is; `previous` is where the night found this version, or None if the night began it."""
    carried, (wanted_pairs, seeds) = config.runtime.carried, bounds(config.runtime)
    new = result.accepted - (previous.accepted if previous else carried)
    if wanted_pairs is None:
        line = f"{result.planned:,} of {seeds:,} seeds gave {result.accepted:,} pairs, {new:,} of them new"
    else:
        line = f"{result.accepted:,} of {wanted_pairs:,} pairs, {new:,} of them new"
    line += f"; {carried:,} carried over, since the corpus changed" if carried and not previous else ""
    return f"{line}; the most seeds were tried: raise runtime.max_seeds" if result.exhausted else line


def describe_replaced(config: RunConfig) -> str:
    """Say which run the name of a growing data set meant before, if this night begins another; else an empty text."""
    name, folder = config.runtime.name, config.folder()
    former = folder.with_name(name).resolve()
    if not former.is_dir() or split_name(former)[0] == split_name(folder)[0]:
        return ""
    result = publishing.last_result(former)
    pairs = f"its {result.accepted:,} pairs" if result else "its pairs"
    return (
        f"; '{name}' now means a new run, since the settings or Digsite itself changed: {former.name} and {pairs} stay "
        f"in {former}"
    )


def may_succeed_later(task: Task[..., object], task_run: TaskRun, state: State[Any]) -> bool:
    return isinstance(state.data, HubError) and not state.data.lasting


@flow(name="digsite-publish", flow_run_name="publish {run}", persist_result=False)
def publish(run: str, repo: str = "", public: bool = False) -> State[Any]:
    """Export a run (`wiki/latest`, or a folder) and write its report.

    With `repo`, send the data set to that repository of the Hugging Face Hub, private unless `public`. The token is
    the value of HF_TOKEN in the environment of the worker.
    """
    outputs, notes = list[str](), list[str]()

    def export() -> None:
        allow_removal = run_file.config.runtime.allow_removal
        manifest = publishing.dataset(folder, run_file.config, allow_removal=allow_removal)
        rows = sum(sum(splits.values()) for splits in manifest.rows().values())
        outputs.append(f"{rows:,} rows in {len(manifest.rows())} views in {folder / 'dataset'}")
        lack = [] if manifest.has_rl else [f"no rl_*: {manifest.rewards.describe_lack()}"]
        notes.extend([*manifest.losses, *lack])

    def push() -> None:
        tag = format_tag(folder)
        plan = hub_upload.upload_plan(folder / "dataset", run_file.config.models.names(), repo, private=not public)
        outputs.append(hub_upload.push(plan, f"Run {tag}", tag, endpoint=os.environ.get("HF_ENDPOINT")))

    try:
        folder = run_folder(run)
        with hold_lock(folder):
            run_file = read(folder)
            stage("export", export)
            stage("report", lambda: publishing.report(folder, run_file.config))
            if repo:
                retried_stage = stage.with_options(
                    retries=len(DELAYS), retry_delay_seconds=DELAYS, retry_condition_fn=may_succeed_later
                )
                retried_stage("push", push)
    except DigsiteError as error:
        return build_end_state(error)
    line = "; ".join([f"published: {', '.join(outputs)}", *notes])
    show_report(folder, run_file.config, outputs[-1] if repo else "")
    return Completed(message=line, data=line)
