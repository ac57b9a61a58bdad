"""The Python API for notebooks, Prefect flows and the command line.

A function takes a configuration (`pipeline.config.build`), or a run's name (`wiki/latest`) or folder, and returns when
its work is done. It may be called from a running event loop, as in a notebook. Events are passed to `watch`, by default
the log. Errors are those of `pipeline.errors`; a `UsageError` says in one line what to do.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from pipeline import registry
from pipeline.afterwards import missing_stages, mixing, policy_measuring, resampling
from pipeline.afterwards.reopening import open_run
from pipeline.analysis import comparison
from pipeline.config import RunConfig
from pipeline.config.exports import GateConfig, SftConfig
from pipeline.config.models import ModelConfig
from pipeline.config.runtime import Runtime
from pipeline.errors import BudgetExceeded, UsageError, unknown
from pipeline.exports.data_set import DatasetManifest
from pipeline.exports.views.base import INCLUDES
from pipeline.measurement import gold_questions, retriever_recall
from pipeline.measurement import solver_accuracy as measuring
from pipeline.measurement.gold_questions import GoldQuestion
from pipeline.retrieval.open_retriever import check, open_retriever
from pipeline.run import LogCallbacks, Run, RunCallbacks, RunResult, prepare, publish, read, stages, tool_modes
from pipeline.run import preview as previewing
from pipeline.run.locate import as_tuple, reopen, run_folder
from pipeline.run.refresh import goal_of_refresh
from pipeline.run.resume import regate
from pipeline.run.versions import find_newest
from pipeline.types import Record
from pipeline.view.browsing import Runs

Runner = Callable[[RunConfig, Path | None, RunCallbacks], RunResult]
"""Runs `stages.generate`, alone or with a Prefect flow that shows it."""


def in_process(config: RunConfig, folder: Path | None, watch: RunCallbacks) -> RunResult:
    """Run `stages.generate` in this process."""
    return prepare.wait(stages.generate(config, folder, watch))


def generate(config: RunConfig, *, watch: RunCallbacks | None = None, runner: Runner = in_process) -> RunResult:
    """Generate pairs until `config.runtime` is satisfied, export them and write the report.

    The same configuration continues the same run. Raises BudgetExceeded, ProviderError, RetrievalError and Interrupted;
    finished seeds are kept.
    """
    return _generate(config, None, watch, runner)


def resume(
    run: str | Path,
    *,
    out: Path | None = None,
    max_seeds: int | None = None,
    wait_seconds: float | None = None,
    watch: RunCallbacks | None = None,
    runner: Runner = in_process,
) -> RunResult:
    """Continue an interrupted run.

    Raises UsageError, naming the changes, if configuration, prompts or corpus have changed. `wait_seconds` is how long
    to wait for an endpoint that is still loading.
    """
    folder, config = reopen(run, out)
    return _generate(_override(config, max_seeds=max_seeds, wait_seconds=wait_seconds), folder, watch, runner)


def refresh(  # noqa: PLR0913 - settings of the user
    run: str | Path,
    *,
    new_pairs: int | None = None,
    out: Path | None = None,
    max_seeds: int | None = None,
    wait_seconds: float | None = None,
    watch: RunCallbacks | None = None,
    runner: Runner = in_process,
) -> RunResult:
    """Begin the next version of a run if its documents changed, and make a new pair for each that no longer holds.

    With `new_pairs`, make that many pairs in addition to those that are carried over, even if no document changed. A
    version that was interrupted is continued.
    """
    folder, _ = reopen(run, out)
    newest = find_newest(folder)
    _, config = reopen(newest, folder.parents[1])
    config = config.with_runtime(**goal_of_refresh(newest, config, new_pairs))
    return _generate(_override(config, max_seeds=max_seeds, wait_seconds=wait_seconds), None, watch, runner)


def _override(config: RunConfig, **runtime: float | None) -> RunConfig:
    """Replace the settings of `runtime` that have a value."""
    return config.with_runtime(**{name: value for name, value in runtime.items() if value is not None})


def _generate(config: RunConfig, folder: Path | None, watch: RunCallbacks | None, runner: Runner) -> RunResult:
    prepare.reach(config)
    # `resume` may be called in another working directory than this command.
    return runner(prepare.absolute_paths(config), folder, watch or LogCallbacks())


def preview(config: RunConfig, *, pairs: int = 3, watch: RunCallbacks | None = None) -> list[Record]:
    """Run the first seeds of the plan, at most ten per pair, without starting a run.

    Return the records of all these seeds, accepted or not.
    """
    config = config.with_runtime(pairs=pairs, seeds=None)
    prepare.reach(config)
    return prepare.wait(previewing.preview(tool_modes.resolve(config), watch or LogCallbacks()))


def records(run: str | Path, *, include: Sequence[str] | None = None, out: Path | None = None) -> Iterator[Record]:
    """Return the records of a run in the order of its plan, after the gates.

    Records with a reason in `include`, by default those of the setting `gates.include`, come last.
    """
    folder = run_folder(run, out)
    config = read(folder).config
    return iter(publish.RunRecords(folder, config, config.gates.include if include is None else as_tuple(include)))


def export(  # noqa: PLR0913 - options of the user
    run: str | Path,
    *,
    views: Sequence[str] = (),
    include: Sequence[str] | None = None,
    policy: str | None = None,
    gates: GateConfig | None = None,
    sft: SftConfig | None = None,
    plain: bool | None = None,
    allow_damaged: bool = False,
    allow_removal: bool = False,
    out: Path | None = None,
) -> DatasetManifest:
    """Write the data set of a run: all views, or only `views`; the other views stay as they are.

    `include` names reasons of rejected records to export too (`below_range`, `below_target`, `beyond_solver`). `policy`
    is the policy whose measurements select the pairs. `include`, `policy`, `gates` and `sft` replace the run's own
    settings from now on. `plain` writes messages and tools as text, for older readers that do not know Arrow's JSON
    type. With None, the data set keeps its form.

    Raises:
        UsageError: the journal is damaged, unless `allow_damaged` is set. Or views or files would be removed, unless
            `allow_removal` is set. In both cases, the data set and the settings stay as they are.
    """
    folder = run_folder(run, out)
    before = config = read(folder).config
    changes = {"policy": policy, "include": None if include is None else _check_reasons(as_tuple(include))}
    if changes := {name: value for name, value in changes.items() if value is not None}:
        gates = (gates or config.gates).model_copy(update=changes)
    if gates or sft:
        publish.check_policy(folder, config, (gates or config.gates).policy)
        config = regate(folder, gates, sft)
    try:
        return publish.dataset(
            folder, config, views=as_tuple(views), plain=plain, damaged=allow_damaged, allow_removal=allow_removal
        )
    except UsageError:
        if config != before:
            regate(folder, before.gates, before.sft)
        raise


def _check_reasons(include: tuple[str, ...]) -> tuple[str, ...]:
    if unknown_reasons := set(include) - set(INCLUDES):
        raise unknown("reason to --include", min(unknown_reasons), INCLUDES)
    return include


def export_environment(run: str | Path, framework: str, *, out: Path | None = None) -> Path:
    """Write a run as an environment of a framework for reinforcement learning, and return the folder of the package.

    Raises UsageError if the framework is unknown or the data set of the run has no question to train on.
    """
    from pipeline.exports.environments import write_package

    return write_package(run_folder(run, out), framework)


def mix(  # noqa: PLR0913 - options of the user
    runs: Sequence[str | Path],
    into: Path,
    *,
    quotas: Sequence[str] = (),
    pairs: int | None = None,
    views: Sequence[str] = (),
    version: str = "",
    gates: GateConfig | None = None,
    sft: SftConfig | None = None,
    allow_removal: bool = False,
    out: Path | None = None,
) -> DatasetManifest:
    """Join runs into one data set, deduplicated over all of them, as the next version of the mix in `into`.

    Raises UsageError if views or files of the earlier version would be removed, unless `allow_removal` is set.

    `quotas` such as `band:hard=0.3` are shares of the pairs. Without `pairs`, as many are taken as keep the quotas
    exact. `gates` and `sft` default to what the runs have in common.
    """
    folders = [run_folder(run, out) for run in runs]
    settings = mixing.Mixing(folders, as_tuple(quotas), pairs, as_tuple(views), version, gates, sft, allow_removal)
    return mixing.mix(settings, Path(into))


def report(run: str | Path, *, out: Path | None = None) -> Path:
    """Rewrite `report.html` of a run and return its path."""
    folder = run_folder(run, out)
    publish.check_lost_seeds(folder, damaged=True)
    return publish.report(folder, read(folder).config)


def measure(
    config: RunConfig, questions: Path | Sequence[GoldQuestion], *, limit: int | None = None
) -> measuring.Measurement:
    """Measure how well the configured solver answers questions with known answers, over the configured corpus."""
    gold = gold_questions.read(questions) if isinstance(questions, Path) else tuple(questions)
    prepare.reach(config)
    config = tool_modes.resolve(config, ("solver",))
    corpus = prepare.corpus(config)
    gold = gold_questions.locate_documents(gold[:limit], corpus)
    context = prepare.context(config, corpus)
    return prepare.wait(measuring.measure(gold, context.llm, context.retriever, config, context.boundary))


def compare_retrievers(
    config: RunConfig, questions: Path | Sequence[GoldQuestion], retrievers: Sequence[str]
) -> list[retriever_recall.RetrieverRecall]:
    """Measure how often one search of each retriever finds all supporting documents. No model is called."""
    gold = gold_questions.read(questions) if isinstance(questions, Path) else tuple(questions)
    settings_by_name = {name: config.retrieval.of(name) for name in as_tuple(retrievers)}
    for settings in settings_by_name.values():
        check(settings)
    corpus = prepare.corpus(config)
    opened = {name: open_retriever(settings, corpus, config.runtime.out) for name, settings in settings_by_name.items()}
    return prepare.wait(retriever_recall.compare_retrievers(gold_questions.locate_documents(gold, corpus), opened))


def compare(first: str | Path, second: str | Path, *, out: Path | None = None) -> comparison.Comparison:
    """Compare two runs, with the same seeds paired. Data sets without their run and journals may be named too.

    Raises UsageError if both names mean the same run.
    """
    with closing(Runs([str(first), str(second)], out or Runtime().out)) as runs:
        sources = runs.open_named()
        if len(sources) < 2:
            raise UsageError(f"'{first}' and '{second}' are the same run; name two")
        return comparison.compare(*(source.comparison_input() for source in sources))


def remeasure(  # noqa: PLR0913 - options of the user
    run: str | Path,
    policy: str,
    *,
    model: ModelConfig | None = None,
    budgets: policy_measuring.Budgets | None = None,
    allow_removal: bool = False,
    out: Path | None = None,
    progress: Callable[[int], None] = lambda questions: None,
    announce: Callable[[str], None] = lambda line: None,
) -> policy_measuring.Remeasuring:
    """Measure a model to be trained on the questions of a run, and rewrite the data set.

    Measures `model`, or else the model in `models.policies`. Skips questions on which this model was measured with
    these settings. `progress` is called with the number of finished questions, and `announce` before that with an
    estimate. Raises BudgetExceeded after exporting what was measured, and UsageError, with the measurements kept, if
    views would be removed, unless `allow_removal` is set.
    """
    budgets = budgets or policy_measuring.Budgets()
    recast = partial(policy_measuring.recast, policy=policy, model=model, budgets=budgets)
    with open_run(run, out, recast, partial(policy_measuring.read_spending, policy)) as (opened, context):
        try:
            work = policy_measuring.remeasure(policy, opened.records(), context, opened.folder, progress, announce)
            outcome = prepare.wait(work)
        except BudgetExceeded as error:
            _export_measured(opened, allow_removal=allow_removal)
            raise BudgetExceeded(f"{error}; what was measured is kept, and the same command continues") from error
        _export_measured(opened, allow_removal=allow_removal)
    return outcome


def _export_measured(run: Run, *, allow_removal: bool) -> None:
    try:
        publish.export_again(run.folder, run.config, allow_removal=allow_removal)
    except UsageError as error:
        raise UsageError(f"{error}; what was measured is kept") from error


def refill(run: str | Path, policy: str, *, out: Path | None = None, watch: RunCallbacks | None = None) -> RunResult:
    """Continue a run until enough pairs suit the policy: pairs outside `gates.solve_rate` no longer count.

    Raises UsageError if any solve rate is allowed, or the run does not measure new pairs for that policy.
    """
    policy_measuring.check_band(reopen(run, out)[1], policy)
    return resume(run, out=out, watch=watch)


def branch(
    run: str | Path,
    method: str,
    *,
    calls: int = 200,
    out: Path | None = None,
    progress: Callable[[int, int], None] = lambda forks, calls: None,
) -> resampling.Branched:
    """Resample rollouts of accepted pairs from intermediate turns (`cso`, `eef`, `pivot`), and rewrite the data set.

    Nothing more begins once `calls` are used, including those of earlier commands.
    """
    registry.load("branching", method)
    with open_run(run, out) as (opened, context):
        outcome = prepare.wait(resampling.branch(method, opened.records(), context, opened.folder, calls, progress))
        publish.export_again(opened.folder, opened.config)
    return outcome


def complete(
    run: str | Path, *, out: Path | None = None, progress: Callable[[int], None] = lambda pairs: None
) -> missing_stages.Completing:
    """Run optional stages that accepted pairs lack, and rewrite data set and report."""
    with open_run(run, out) as (opened, context):
        outcome = prepare.wait(missing_stages.complete(opened.records(), context, opened.folder, progress))
        if outcome.pairs:
            publish.export_again(opened.folder, opened.config)
            publish.report(opened.folder, opened.config)
    return outcome
