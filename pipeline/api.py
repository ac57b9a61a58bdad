"""The Python API: what a notebook, a Prefect flow and the command line call.

A function takes a configuration (`pipeline.config.build`), or a run by its name (`wiki/latest`) or folder, and returns
when its work is done; it may be called from a running event loop, as a notebook's cells are. What goes on is shown to
`watch`, by default the log. Errors are those of `pipeline.errors`: a `UsageError` says in one line what to do.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from pipeline import registry
from pipeline.afterwards import missing_stages, mixing, policy_measuring, resampling
from pipeline.afterwards.reopening import open_run
from pipeline.analysis import comparison
from pipeline.analysis.run_source import compared
from pipeline.config import RunConfig
from pipeline.config.gates import GateConfig
from pipeline.config.models import ModelConfig
from pipeline.config.runtime import Runtime
from pipeline.config.sft_settings import SftConfig
from pipeline.errors import BudgetExceeded, UsageError
from pipeline.exports.data_set import DatasetManifest
from pipeline.measurement import gold_questions, retriever_recall
from pipeline.measurement import solver_accuracy as measuring
from pipeline.measurement.gold_questions import GoldQuestion
from pipeline.retrieval.open_retriever import check, open_retriever
from pipeline.run import LogCallbacks, RunCallbacks, RunResult, prepare, publish, read, stages, tool_modes
from pipeline.run import preview as previewing
from pipeline.run.locate import each, reopened, run_folder
from pipeline.run.resume import regate
from pipeline.types import Record
from pipeline.view.browsing import Runs

Runner = Callable[[RunConfig, Path | None, RunCallbacks], RunResult]
"""Runs `stages.generate`, by itself or with a Prefect flow that shows it."""


def in_process(config: RunConfig, folder: Path | None, watch: RunCallbacks) -> RunResult:
    """`stages.generate` in this process."""
    return prepare.wait(stages.generate(config, folder, watch))


def generate(config: RunConfig, *, watch: RunCallbacks | None = None, runner: Runner = in_process) -> RunResult:
    """Generate pairs until `config.how` is satisfied, export them and write the report.

    The same configuration again goes on with the same run. Raises BudgetExceeded, ProviderError, RetrievalError and
    Interrupted; what had finished is kept.
    """
    return _generate(config, None, watch, runner)


def resume(
    run: str | Path,
    *,
    out: Path | None = None,
    wait_seconds: float | None = None,
    watch: RunCallbacks | None = None,
    runner: Runner = in_process,
) -> RunResult:
    """Continue an interrupted run. Raises UsageError, naming what changed, if configuration, prompts or corpus did.

    `wait_seconds` is how long to wait for an endpoint that is still loading.
    """
    folder, config = reopened(run, out)
    if wait_seconds is not None:
        config = config.with_how(wait_seconds=wait_seconds)
    return _generate(config, folder, watch, runner)


def _generate(config: RunConfig, folder: Path | None, watch: RunCallbacks | None, runner: Runner) -> RunResult:
    prepare.reach(config)
    # `resume` may be called from another folder than this command was.
    return runner(prepare.absolute_paths(config), folder, watch or LogCallbacks())


def preview(config: RunConfig, *, pairs: int = 3, watch: RunCallbacks | None = None) -> list[Record]:
    """Run the first seeds of the plan, ten a pair at most, without starting a run: the records of all that were tried,
    accepted or not."""
    config = config.with_how(pairs=pairs, seeds=None)
    prepare.reach(config)
    return prepare.wait(previewing.preview(tool_modes.resolved(config), watch or LogCallbacks()))


def records(run: str | Path, *, include: Sequence[str] = (), out: Path | None = None) -> Iterator[Record]:
    """The records of a run in the order of its plan, as the gates see them; those with a reason of `include` last."""
    folder = run_folder(run, out)
    return iter(publish.RunRecords(folder, read(folder).config, each(include)))


def export(  # noqa: PLR0913 - options of the user
    run: str | Path,
    *,
    views: Sequence[str] = (),
    include: Sequence[str] = (),
    policy: str | None = None,
    gates: GateConfig | None = None,
    sft: SftConfig | None = None,
    plain: bool = False,
    allow_damaged: bool = False,
    out: Path | None = None,
) -> DatasetManifest:
    """Write the data set of a run: all views, or only `views`; the others stay as they are.

    `plain` writes messages and tools as text in place of Arrow's JSON type, which older readers do not know.
    `include` takes rejected records with these reasons too (`below_range`, `below_target`, `beyond_solver`). `policy`
    is whose measurements count; it, `gates` and `sft` replace the run's own from now on. Raises UsageError where the
    journal is damaged, unless `allow_damaged`.
    """
    folder = run_folder(run, out)
    config = read(folder).config
    if policy is not None:
        gates = (gates or config.gates).model_copy(update={"policy": policy})
    if gates or sft:
        publish.check_policy(folder, config, (gates or config.gates).policy)
        config = regate(folder, gates, sft)
    chosen = {"views": each(views), "include": each(include)}
    return publish.dataset(folder, config, **chosen, plain=plain, damaged=allow_damaged)


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
    out: Path | None = None,
) -> DatasetManifest:
    """Join runs into one data set, deduplicated over all of them, as the next version of what stands in `into`.

    `quotas` such as `band:hard=0.3` are shares of the pairs; without `pairs` as many are taken as leave them exact.
    `gates` and `sft` are by default what the runs have in common.
    """
    folders = [run_folder(run, out) for run in runs]
    return mixing.mix(mixing.Mixing(folders, each(quotas), pairs, each(views), version, gates, sft), Path(into))


def report(run: str | Path, *, out: Path | None = None) -> Path:
    """Write `report.html` of a run anew; its path."""
    folder = run_folder(run, out)
    publish.whole(folder, damaged=True)
    return publish.report(folder, read(folder).config)


def measure(
    config: RunConfig, questions: Path | Sequence[GoldQuestion], *, limit: int | None = None
) -> measuring.Measurement:
    """How well the solver of the configuration answers questions with known answers, over the configured corpus."""
    known = gold_questions.read(questions) if isinstance(questions, Path) else tuple(questions)
    prepare.reach(config)
    config = tool_modes.resolved(config, ("solver",))
    corpus = prepare.corpus(config)
    known = gold_questions.locate_documents(known[:limit], corpus)
    context = prepare.context(config, corpus)
    return prepare.wait(measuring.measure(known, context.llm, context.retriever, config))


def compare_retrievers(
    config: RunConfig, questions: Path | Sequence[GoldQuestion], retrievers: Sequence[str]
) -> list[retriever_recall.RetrieverRecall]:
    """How often one search of each retriever finds all documents that a question rests on; no model is asked."""
    known = gold_questions.read(questions) if isinstance(questions, Path) else tuple(questions)
    asked = {name: config.retrieval.of(name) for name in each(retrievers)}
    for settings in asked.values():
        check(settings)
    corpus = prepare.corpus(config)
    found = {name: open_retriever(settings, corpus, config.how.out) for name, settings in asked.items()}
    return prepare.wait(retriever_recall.compare_retrievers(gold_questions.locate_documents(known, corpus), found))


def compare(one: str | Path, other: str | Path, *, out: Path | None = None) -> comparison.Comparison:
    """Two runs beside each other, the same seeds paired; data sets without their run and journals may be named too.

    Raises UsageError where both names are of the same run.
    """
    with closing(Runs([str(one), str(other)], out or Runtime().out)) as runs:
        found = runs.open_named()
        if len(found) < 2:
            raise UsageError(f"'{one}' and '{other}' are the same run; name two")
        return comparison.compare(*(compared(source, source.whole()) for source in found))


def remeasure(  # noqa: PLR0913 - options of the user
    run: str | Path,
    policy: str,
    *,
    model: ModelConfig | None = None,
    budgets: policy_measuring.Budgets | None = None,
    out: Path | None = None,
    progress: Callable[[int], None] = lambda questions: None,
    announce: Callable[[str], None] = lambda line: None,
) -> policy_measuring.Remeasuring:
    """Try the questions of a run with a model to be trained, and write the data set anew: the `model`, or that of
    `models.policies`. Questions that this model has been tried on with these settings are left as they are.

    `progress` is called with the number of questions that have ended, `announce` before with what all will take. Raises
    BudgetExceeded once what there is was exported.
    """
    budgets = budgets or policy_measuring.Budgets()
    recast = partial(policy_measuring.recast, policy=policy, model=model, budgets=budgets)
    with open_run(run, out, recast, partial(policy_measuring.read_spending, policy)) as (found, context):
        try:
            measured = policy_measuring.remeasure(policy, found.kept(), context, found.folder, progress, announce)
            done = prepare.wait(measured)
        except BudgetExceeded as error:
            publish.again(found.folder, found.config)
            raise BudgetExceeded(f"{error}; what was measured is kept, and the same command continues") from error
        publish.again(found.folder, found.config)
    return done


def refill(run: str | Path, policy: str, *, out: Path | None = None, watch: RunCallbacks | None = None) -> RunResult:
    """Go on with a run until as many pairs as it was to have are right for that policy: those that a `remeasure` found
    outside `gates.solve_rate` count no more.

    Raises UsageError where any solve rate is allowed, or the run does not measure new pairs for that policy.
    """
    policy_measuring.check_band(reopened(run, out)[1], policy)
    return resume(run, out=out, watch=watch)


def branch(
    run: str | Path,
    method: str,
    *,
    calls: int = 200,
    out: Path | None = None,
    progress: Callable[[int, int], None] = lambda forks, calls: None,
) -> resampling.Branched:
    """Resample stored rollouts of accepted pairs from intermediate turns (`cso`, `eef`, `pivot`), and write the data
    set anew. Nothing more begins when `calls` are used, those of earlier commands included.
    """
    registry.load("branching", method)
    with open_run(run, out) as (found, context):
        done = prepare.wait(resampling.branch(method, found.kept(), context, found.folder, calls, progress))
        publish.again(found.folder, found.config)
    return done


def complete(
    run: str | Path, *, out: Path | None = None, progress: Callable[[int], None] = lambda pairs: None
) -> missing_stages.Completing:
    """Run optional stages that accepted pairs lack, and write data set and report anew."""
    with open_run(run, out) as (found, context):
        done = prepare.wait(missing_stages.complete(found.kept(), context, found.folder, progress))
        if done.pairs:
            publish.again(found.folder, found.config)
            publish.report(found.folder, found.config)
    return done
