"""The commands that make pairs: `generate`, `harden`, `resume`, `preview`."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from pipeline.cli import console, options, terminal
from pipeline.cli.export import say_views
from pipeline.cli.progress import Progress
from pipeline.config import RunConfig
from pipeline.config.runtime import Runtime
from pipeline.corpus import seed_passages
from pipeline.errors import UsageError
from pipeline.run import Attempt, RunResult, read
from pipeline.run.locate import quote_run, reopen
from pipeline.run.plan import bounds
from pipeline.run.versions import read_version
from pipeline.types import Reason, ReasonCode, Status

PREVIEW_PAIRS = 3
SHORT = 3
"""Exit code of a run that ended with fewer pairs than requested."""


NewPairs = Annotated[
    int | None, Option(min=1, help="Pairs to add to those of the version before, instead of a number in all.")
]


@dataclass(kw_only=True)
class Generate(options.RunOptions):
    """Generate pairs from CORPUS until --pairs are accepted. Run it again to continue."""

    ctx: typer.Context
    pairs: Annotated[int | None, Option(min=1, help="Accepted pairs to generate.  [30]")] = None
    new_pairs: NewPairs = None
    seeds: Annotated[int | None, Option(min=1, help="Run exactly this many seeds, however many are accepted.")] = None
    engine: options.Seeder = None
    address: options.Address = None
    workers: options.Workers = None
    against: options.Against = None
    no_flow: options.NoFlow = False
    json: options.Json = False

    def __call__(self) -> int:
        from pipeline import api

        config = self.settings()
        if self.no_flow and config.runtime.engine != "local":
            raise UsageError(f"--engine {config.runtime.engine} needs Prefect: leave out --no-flow")
        return _run(partial(api.generate, config), config, None if self.no_flow else self.ctx.obj, as_json=self.json)


@dataclass(kw_only=True)
class Harden(Generate):
    """Make the questions of FILE harder, with the same answers, using CORPUS. Run it again to continue."""

    file: Annotated[
        Path,
        Argument(
            metavar="FILE",
            help="A file or folder of questions with answers, as for 'measure', or hf:ORG/NAME. Each is tried once "
            "unless --seeds or --pairs is set.",
        ),
    ]

    def settings(self, **fixed: Any) -> RunConfig:
        from pipeline.run.given_questions import hardening

        if self.strategy:
            raise UsageError("harden starts from the questions of FILE: leave out --strategy")
        if self.like:
            raise UsageError("harden keeps the style of the questions of FILE: leave out --like")
        if self.persona:
            raise UsageError("harden keeps the style of the questions of FILE: leave out --persona")
        return hardening(super().settings(**fixed), self.file)


def resume(  # noqa: PLR0913, PLR0917 - options of the user
    ctx: typer.Context,
    run: options.Run,
    max_seeds: options.MaxSeeds = None,
    out: options.Out = None,
    wait: options.Wait = None,
    no_flow: options.NoFlow = False,
    json: options.Json = False,
) -> int:
    """Continue an interrupted run. Refuses if the configuration, prompts or corpus changed."""
    from pipeline import api

    folder, config = reopen(run, out)
    job = partial(api.resume, folder, max_seeds=max_seeds, wait_seconds=wait)
    return _run(job, config, None if no_flow else ctx.obj, as_json=json)


def refresh(  # noqa: PLR0913, PLR0917 - options of the user
    ctx: typer.Context,
    run: options.Run,
    new_pairs: NewPairs = None,
    max_seeds: options.MaxSeeds = None,
    out: options.Out = None,
    wait: options.Wait = None,
    no_flow: options.NoFlow = False,
    json: options.Json = False,
) -> int:
    """Make the next version of a run whose documents changed: keep the pairs that hold, and replace the others."""
    from pipeline import api

    folder, config = reopen(run, out)
    job = partial(api.refresh, folder, new_pairs=new_pairs, max_seeds=max_seeds, wait_seconds=wait)
    return _run(job, config, None if no_flow else ctx.obj, as_json=json)


class PreviewProgress(Progress):
    """Progress that keeps the attempts in memory, because a preview writes no files."""

    def __init__(self, *, pairs: int) -> None:
        super().__init__(pairs=pairs)
        self.attempts: list[Attempt] = []

    def attempt(self, attempt: Attempt) -> None:
        self.attempts.append(attempt)
        super().attempt(attempt)


@dataclass(kw_only=True)
class Preview(options.PairOptions):
    """Print three pairs of CORPUS with all their traces, and what a run will cost, without starting one."""

    json: options.Json = False

    def __call__(self) -> int:
        from pipeline import api
        from pipeline.analysis.forecast import forecast
        from pipeline.run.seed_costs import seed_costs

        config = self.settings()
        with PreviewProgress(pairs=PREVIEW_PAIRS) as progress:
            records = api.preview(config, pairs=PREVIEW_PAIRS, watch=progress)
        accepted = [record for record in records if record.status is Status.ACCEPTED][:PREVIEW_PAIRS]
        pilot = seed_costs(progress.attempts, records)
        expected = forecast(pilot, config.models, Runtime().pairs)
        console.result(
            [record.model_dump(mode="json") for record in accepted],
            *(part for record in accepted for part in (*terminal.item(record), "")),
            *terminal.projection(expected),
            as_json=self.json,
            model=config.models.names(),
        )
        if not self.json:
            cached = f"the index and paid answers are kept in {config.runtime.out} for 'digsite generate'"
            console.message(f"no run was started; {cached}")
        if len(accepted) == PREVIEW_PAIRS:
            return 0
        reasons = Counter(record.reason for record in records if record.reason)
        why = ", ".join(f"{reason} {count}" for reason, count in reasons.most_common())
        console.message(
            f"digsite: {len(records)} seeds gave {len(accepted)} of {PREVIEW_PAIRS} pairs; not accepted: {why}"
        )
        return SHORT


def _run(
    command: Callable[..., RunResult], config: RunConfig, runner: Callable[..., RunResult] | None, *, as_json: bool
) -> int:
    """Run the command with progress on stderr, through the runner if there is one, and print its result."""
    say_target(config)
    with Progress(pairs=config.runtime.pairs, seeds=config.runtime.seeds) as progress:
        result = command(watch=progress, runner=runner) if runner else command(watch=progress)
    # The run may be a version of its own, with other settings of `runtime`.
    show(result, read(result.folder).config.with_runtime(out=config.runtime.out), as_json=as_json)
    return SHORT if result.exhausted else 0


def say_target(config: RunConfig) -> None:
    """Tell a person what the target solve rate, if there is one, means as a number of rollouts."""
    from pipeline.loop.solve_rates import describe_target

    if band := config.band:
        too_few_rollouts = len(band.counts) == 1 and band.low < band.high
        message = f"target: {describe_target(config)}"
        console.message(message + ("; raise loop.rollouts to measure rates within it" if too_few_rollouts else ""))


def show(result: RunResult, config: RunConfig, *, as_json: bool) -> None:
    """Print the result of a run that has ended."""
    from pipeline.exports import data_set
    from pipeline.run import publish

    folder, run = result.folder, quote_run(f"{result.folder.parent.name}/{result.folder.name}", config.runtime.out)
    paths = {"run": folder, "dataset": folder / "dataset", "report": folder / "report.html"}
    if as_json:
        tree = {"model": config.models.names(), **{name: str(path) for name, path in paths.items()}}
        console.json({**tree, **result.model_dump(mode="json", exclude={"folder"})})
        return
    example = next((r for r in publish.RunRecords(folder, read(folder).config) if r.status == "accepted"), None)
    if example is not None:
        console.show(console.text("\nOne of them:", style="bold"), *terminal.pair(example), "")
    rows = [("planned", result.planned), ("accepted", result.accepted)]
    rows += [(f"not accepted: {reason}", count) for reason, count in result.reasons.items()]
    rows += [("spare seeds, for a larger --pairs", result.surplus)] if result.surplus else []
    console.show(console.table("seeds", "", rows=rows), "")
    console.demo_note(config.models.names())
    console.show(console.text(f"data set  {paths['dataset']}"), console.text(f"report    {paths['report']}"))
    say_views(data_set.read_manifest(paths["dataset"]))
    say_version(folder)
    say_shortfalls(result, config, run)
    console.show(console.text(f"next      digsite inspect {run}"))


def say_version(folder: Path) -> None:
    """Print what a version took over from the one before, and what it left behind."""
    if version := read_version(folder):
        console.show(console.text(f"version   {version.summary.number}: {version.summary}; the card lists them"))


def say_shortfalls(result: RunResult, config: RunConfig, run: str) -> None:
    if result.damaged:
        console.message(f"digsite: damaged lines in the journal: {result.damaged:,}; their seeds were run again")
    if result.exhausted:
        outcome = f"digsite: {result.planned:,} seeds gave {result.accepted:,} of {bounds(config.runtime)[0]:,} pairs"
        console.message(f"{outcome}; {_advise(result, config)}")
    shortcuts = result.reasons.get(ReasonCode.BELOW_RANGE, 0)
    if config.accepts_by_range and shortcuts > result.accepted:
        console.message(
            f"digsite: {shortcuts:,} questions took the solver enough steps, but a seeker or a later rollout found a "
            f"shorter way; to keep them: digsite export {run} --include below_range; to accept by the solver's steps "
            "alone: --set difficulty.adversarial=false"
        )
    if sum(result.dropped.values()) > result.planned:
        console.message(
            f"digsite: most passages cannot start a question. {seed_passages.explain_refusals(result.dropped)}"
        )
    if result.missing:
        lacking = ", ".join(f"{stage} {count:,}" for stage, count in result.missing.items())
        remedy = f"to complete them: digsite complete {run}"
        console.message(f"digsite: accepted pairs without all rollouts of a stage: {lacking}; {remedy}")


def _advise(result: RunResult, config: RunConfig) -> str:
    """Say what to do for more pairs, by why most seeds failed: no question at all, or no chain that is long enough."""
    too_short = result.reasons.get("superficial", 0)
    no_draft = sum(n for reason, n in result.reasons.items() if Reason.parse(reason).code == ReasonCode.NO_DRAFT)
    understands = config.models.of("generator").capabilities.understands
    # Nothing is below one step, and a band of solve rates is no number of steps.
    shorter = "try fewer --steps, or " if config.steps[0] > 1 and config.steps_required else ""
    if not understands and too_short + no_draft == result.planned:
        return (
            "none gave a chain of hops. The demo model reads English prose only: name a --model that reads these "
            f"texts, {shorter or 'or '}continue with --max-seeds"
        )
    if 2 * (too_short + no_draft) <= result.planned:
        return "for more: --max-seeds"
    if no_draft > too_short and understands:
        return "for more: --max-seeds; the model proposed no usable question: test it with digsite doctor --model"
    return f"for more: --max-seeds; most had no chain that long: {shorter or 'try '}a --model that reads such text"
