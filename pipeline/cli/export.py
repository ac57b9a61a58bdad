"""The commands `export` and `report`. They read the journal of a run and never change it.

`export` stores the gates from its options with the run.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import polars as pl
from typer import Argument, Option

from pipeline.cli import console, options
from pipeline.config.exports import GateConfig, SftConfig
from pipeline.errors import UsageError
from pipeline.run import read
from pipeline.run.locate import quote_run, run_folder
from pipeline.store.tables import scan_parquet

if TYPE_CHECKING:
    from pipeline.exports.data_set import DatasetManifest

View = Annotated[list[str] | None, Option(metavar="A,B", help="Views, such as qa,sft; --list names them.  [all]")]


def export(  # noqa: PLR0913, PLR0917 - options of the user
    run: Annotated[str | None, Argument(metavar="RUN", help="As for 'inspect'; not needed with --list.")] = None,
    view: View = None,
    include: Annotated[
        list[str] | None,
        Option(
            metavar="A,B",
            help="below_range, below_target, or beyond_solver (solved in `remeasure`); stored with the run, as "
            "gates.include.",
        ),
    ] = None,
    policy: options.For = None,
    against: options.Against = None,
    sets: Annotated[
        list[str] | None,
        Option("--set", metavar="GATES.B=C", help="A new limit of a gate, stored with the run. Repeatable."),
    ] = None,
    plain: Annotated[
        bool | None,
        Option(
            "--plain/--no-plain",
            help="Write messages and tools as plain text, for datasets before 4.7 and polars 1.20, which fail on "
            "Arrow's JSON type.  [as the data set is]",
        ),
    ] = None,
    damaged: Annotated[
        bool,
        Option("--allow-damaged", help="Export although lines of the journal are damaged; their pairs are missing."),
    ] = False,
    allow_removal: options.AllowRemoval = None,
    environment: Annotated[
        str | None,
        Option(
            metavar="FRAMEWORK",
            help="Write the run as an environment to train in instead: nemo-gym, openenv or verifiers.",
        ),
    ] = None,
    list_views: Annotated[bool, Option("--list", help="Print only the names of all views.")] = False,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Write the data set of a run again: all views, or only those named with --view."""
    from pipeline.exports.views import base

    if list_views:
        console.json(base.names()) if json else console.show(*map(console.text, base.names()))
        return
    if run is None:
        raise UsageError("which run? 'digsite export latest', or --list for the names of the views")
    from pipeline import api

    folder = run_folder(run, out)
    if environment is not None:
        package = api.export_environment(folder, environment)
        console.result({"package": str(package)}, console.text(package), as_json=json)
        return
    gates, sft = _update_gates(folder, against or [], sets or [])
    manifest = api.export(
        folder,
        views=options.split_names(view),
        include=None if include is None else options.split_names(include),
        policy=policy,
        gates=gates,
        sft=sft,
        plain=plain,
        allow_damaged=damaged,
        allow_removal=bool(allow_removal),
    )
    rows, tree = manifest.rows(), manifest.model_dump(mode="json")
    console.result(tree, console.rows_of_views(rows), console.text(folder / "dataset"), as_json=json)
    if "beyond_solver" in options.split_names(include) and (unsolved := _count_unsolved(folder)):
        command = f"digsite remeasure {quote_run(run, out)} --policy NAME --model MODEL"
        console.message(
            f"{unsolved} beyond_solver seeds are left out because no model has solved them; to try another: {command}"
        )
    if not rows and not view:
        console.message(f"no pair passed the gates; to see why: digsite inspect {quote_run(run, out)}")
    if not json:
        say_views(manifest, options.split_names(view))


def say_views(manifest: "DatasetManifest", views: tuple[str, ...] = ()) -> None:
    """Tell a person which questions the `rl_*` views hold, and which views were not written and why.

    Args:
        views: the views to speak of; all if empty.
    """
    rows = manifest.rows()
    if not views or any(name.startswith("rl_") for name in views):
        rewards = manifest.rewards
        console.message(
            f"rl_* views: {rewards.describe()}" if manifest.has_rl else f"no rl_*: {rewards.describe_lack()}"
        )
    missing = [f"{name} ({why})" for name, why in manifest.unwritten.items() if name in (views or manifest.unwritten)]
    if missing and (rows or views):
        console.message(f"views not written: {', '.join(missing)}")


def _count_unsolved(folder: Path) -> int:
    is_unsolved = pl.col("reason") == "beyond_solver", pl.col("difficulty").is_null()
    return scan_parquet(folder / "dataset" / "seeds.parquet").filter(*is_unsolved).select("key").collect().height


def _update_gates(folder: Path, against: list[Path], sets: list[str]) -> tuple[GateConfig | None, SftConfig | None]:
    """Return the run's gates and its selection of rollouts with the changes of the options, or None if there are none.

    The export stores them with the run. Otherwise the next `review` would write dropped pairs back into the data set.
    """
    if not against and not sets:
        return None, None
    before = read(folder).config.model_dump(mode="json", include={"gates", "sft"})
    gates, sft = options.build_gates_and_sft("export", before, sets)
    lists = dict.fromkeys((*gates.against, *map(Path, options.absolute_paths(against))))
    return gates.model_copy(update={"against": tuple(lists)}), sft


def report(run: options.Run, out: options.Out = None, json: options.Json = False) -> None:
    """Write the report of a run again."""
    from pipeline import api

    path = api.report(run, out=out)
    console.result({"report": str(path)}, console.text(path), as_json=json)
