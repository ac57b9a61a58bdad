"""The commands that make pairs: `generate`, `resume`, `preview`."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.cli import options, pages, tell
from pipeline.cli.progress import Progress, ProgressCounts
from pipeline.config import How, RunConfig
from pipeline.run.locate import reopened, spelled
from pipeline.types import Status

if TYPE_CHECKING:
    from pipeline.run import RunResult

NoFlow = Annotated[bool, typer.Option("--no-flow", help="Without Prefect: some seconds quicker, the same bytes.")]
PREVIEWED = 3
SHORT = 3
"""Exit code of a run that ended with fewer pairs than wanted."""


class _Asked:
    pairs: Annotated[int | None, typer.Option(min=1, help="Accepted pairs wanted.  [30]")]
    seeds: Annotated[int | None, typer.Option(min=1, help="Run exactly so many seeds, whatever they yield.")]
    against: options.Against


@options.settled(
    _Asked, options.WhatOptions, options.ModelOptions, options.FieldOptions, options.Provenance, options.HowOptions
)
def generate(ctx: typer.Context, settings: RunConfig, no_flow: NoFlow = False, json: options.Json = False) -> int:
    """Make pairs out of CORPUS until so many are accepted. The same command again goes on where it stopped."""
    from pipeline.run import api

    return _run(api.generate, settings, settings, way=None if no_flow else ctx.obj, json=json)


def resume(
    ctx: typer.Context,
    run: options.Run,
    out: options.Out = None,
    wait: options.Wait = None,
    no_flow: NoFlow = False,
    json: options.Json = False,
) -> int:
    """Go on with an interrupted run, if nothing that it rests on has changed."""
    from pipeline.run import api

    folder, config = reopened(run, out)
    return _run(partial(api.resume, wait_seconds=wait), folder, config, way=None if no_flow else ctx.obj, json=json)


@options.settled(options.WhatOptions, options.ModelOptions, options.FieldOptions, options.Provenance, pairs=PREVIEWED)
def preview(settings: RunConfig, json: options.Json = False) -> int:
    """Print three pairs of CORPUS with all their traces, and what a run will take, without starting one."""
    from pipeline.run import api
    from pipeline.view.forecast import forecast

    with Progress(ProgressCounts(pairs=PREVIEWED, seeds=None)) as progress:
        tried = api.preview(settings, watch=progress)
    found = [record for record in tried if record.status is Status.ACCEPTED][:PREVIEWED]
    if json:
        tell.json([record.model_dump(mode="json") for record in found])
    else:
        for record in found:
            tell.show(*pages.item(record), "")
        tell.show(pages.projection(forecast(tried, settings.models, How().pairs)))
        tell.note(settings.models.names())
        tell.say(f"no run was started; index and paid answers are kept in {settings.how.out} for 'digsite generate'")
    if len(found) < PREVIEWED:
        reasons = Counter(record.reason for record in tried if record.reason)
        why = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
        tell.say(f"digsite: {len(tried)} seeds gave {len(found)} of {PREVIEWED} pairs; not accepted: {why}")
    return 0 if len(found) == PREVIEWED else SHORT


def _run(
    command: "Callable[..., RunResult]", what: object, config: RunConfig, *, way: options.Way | None, json: bool
) -> int:
    """The command over a configuration or a run, with progress on stderr, then what came of it."""
    with Progress(ProgressCounts(pairs=config.how.pairs, seeds=config.how.seeds)) as progress:
        chosen = {"runner": partial(way.through, debug=way.debug)} if way and way.through else {}
        result = command(what, watch=progress, **chosen)
    if json:
        tell.json({"model": config.models.names(), **summary(result)})
    else:
        _close(result, config)
    return SHORT if result.exhausted else 0


def summary(result: "RunResult") -> dict[str, Any]:
    """What a script wants to know of a run that has ended."""
    folder = result.folder
    paths = {"run": folder, "dataset": folder / "dataset", "report": folder / "report.html"}
    return {**{name: str(path) for name, path in paths.items()}, **result.model_dump(mode="json", exclude={"folder"})}


def _close(result: "RunResult", config: RunConfig) -> None:
    from pipeline.corpus.seeds import explained
    from pipeline.run import publish

    folder = result.folder
    example = next((r for r in publish.records(folder, config) if r.status == "accepted"), None)
    if example is not None:
        tell.show(tell.words("\nOne of them:", style="bold"), *pages.pair(example), "")
    rows = [("planned", result.planned), ("accepted", result.accepted)]
    rows += [(f"not accepted: {reason}", count) for reason, count in result.reasons.items()]
    rows += [("beyond them, for more --pairs", result.surplus)] if result.surplus else []
    tell.show(tell.table("seeds", "", rows=rows), "")
    tell.note(config.models.names())
    tell.show(tell.words(f"data set  {folder / 'dataset'}"), tell.words(f"report    {folder / 'report.html'}"))
    if result.damaged:
        tell.say(f"digsite: damaged lines in the journal: {result.damaged}; their seeds have been run again")
    if result.exhausted:
        gave = f"digsite: {result.planned} seeds gave {result.accepted} of {config.how.pairs} pairs"
        tell.say(f"{gave}; {_for_more(result, config)}")
    if sum(result.dropped.values()) > result.planned:
        tell.say(f"digsite: more passages were passed over than asked about. {explained(result.dropped)}")
    run = spelled(f"{folder.parent.name}/{folder.name}", config.how.out)
    if result.missing:
        lacking = ", ".join(f"{stage} {count}" for stage, count in result.missing.items())
        tell.say(
            f"digsite: accepted pairs without all rollouts of a stage: {lacking}; to make up: digsite complete {run}"
        )
    tell.show(tell.words(f"next      digsite inspect {run}"))


def _for_more(result: "RunResult", config: RunConfig) -> str:
    """What may help; also where most seeds gave no question, or no chain that is long enough, as with tables."""
    short, none = result.reasons.get("superficial", 0), result.reasons.get("no_draft", 0)
    embedded = config.models.of("generator").embedded
    if embedded and short + none == result.planned:
        return (
            "none gave a chain of hops. The embedded model reads English prose only: name a --model that reads these "
            "texts, try fewer --steps, or go on all the same with --max-seeds"
        )
    if 2 * (short + none) <= result.planned:
        return "for more: --max-seeds"
    if none > short and not embedded:
        return "for more: --max-seeds; the model asked nothing usable: see what it can do with digsite doctor --model"
    return "for more: --max-seeds; most had no chain that long: try fewer --steps, or a --model that reads such text"
