"""Commands about a run that is there: `export`, `report`. They read its journal and change nothing in it; `export`
keeps the gates that it is given."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from pipeline.cli import console, options
from pipeline.config.gates import GateConfig
from pipeline.config.sft_settings import SftConfig
from pipeline.errors import UsageError
from pipeline.run import read
from pipeline.run.locate import quote_run, run_folder

if TYPE_CHECKING:
    from pipeline.exports.data_set import DatasetManifest

View = Annotated[list[str] | None, Option(metavar="A,B", help="Views, such as qa,sft; --list names them.  [all]")]


def export(  # noqa: PLR0913, PLR0917 - options of the user
    run: Annotated[str | None, Argument(metavar="RUN", help="As for 'inspect'; not needed with --list.")] = None,
    view: View = None,
    include: Annotated[
        list[str] | None,
        Option(metavar="A,B", help="below_range, below_target, or beyond_solver (solved in `remeasure`)."),
    ] = None,
    policy: options.For = None,
    against: options.Against = None,
    sets: Annotated[
        list[str] | None,
        Option("--set", metavar="GATES.B=C", help="Another limit of a gate, kept for the run. Repeatable."),
    ] = None,
    plain: Annotated[
        bool,
        Option(
            "--plain",
            help="Messages and tools as plain text: datasets before 4.7 and polars 1.20 fail on Arrow's JSON type.",
        ),
    ] = False,
    damaged: Annotated[
        bool,
        Option("--allow-damaged", help="Export although lines of the journal are damaged; their pairs are missing."),
    ] = False,
    every: Annotated[bool, Option("--list", help="The names of all views, and nothing else.")] = False,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Write the data set of a run anew: all views, or only those given with --view."""
    from pipeline.exports.views import base

    if every:
        console.json(base.names()) if json else console.show(*map(console.text, base.names()))
        return
    if run is None:
        raise UsageError("which run? 'digsite export latest', or --list for the names of the views")
    from pipeline import api

    folder = run_folder(run, out)
    gates, sft = _chosen(folder, against or [], sets or [])
    manifest = api.export(
        folder,
        views=options.parts(view),
        include=options.parts(include),
        policy=policy,
        gates=gates,
        sft=sft,
        plain=plain,
        allow_damaged=damaged,
    )
    rows, tree = manifest.rows(), manifest.model_dump(mode="json")
    console.result(tree, console.rows_of_views(rows), console.text(folder / "dataset"), as_json=json)
    if "beyond_solver" in options.parts(include) and (unsolved := _unsolved(folder)):
        again = f"digsite remeasure {quote_run(run, out)} --policy NAME --model MODEL"
        console.message(f"no model has solved {unsolved} of the beyond_solver seeds, so they are left out: {again}")
    if not rows and not view:
        console.message(f"no pair passed the gates: digsite inspect {quote_run(run, out)} counts what each has dropped")
    if not json:
        say_views(manifest, options.parts(view))


def say_views(manifest: "DatasetManifest", asked: tuple[str, ...] = ()) -> None:
    """Say what the `rl_*` views hold, and which views have no row and why; only of those asked for, if any were."""
    rows = manifest.rows()
    if not asked or any(name.startswith("rl_") for name in asked):
        console.message(f"rl_* views: {manifest.rewards.describe()}")
    missing = [f"{name} ({why})" for name, why in manifest.unwritten.items() if name in (asked or manifest.unwritten)]
    if missing and (rows or asked):
        console.message(f"views not written: {', '.join(missing)}")


def _unsolved(folder: Path) -> int:
    import polars as pl

    from pipeline.store.tables import scan_parquet

    mine = pl.col("reason") == "beyond_solver", pl.col("difficulty").is_null()
    return scan_parquet(folder / "dataset" / "seeds.parquet").filter(*mine).select("key").collect().height


def _chosen(folder: Path, against: list[Path], sets: list[str]) -> tuple[GateConfig | None, SftConfig | None]:
    """The run's gates and its selection of rollouts with what is asked for; none where they stay. From now on they are
    the run's, or the next `review` would write what was just dropped back into the data set."""
    if not against and not sets:
        return None, None
    before = read(folder).config.model_dump(mode="json", include={"gates", "sft"})
    gates, sft = options.gates_and_sft("export", before, sets)
    lists = dict.fromkeys((*gates.against, *map(Path, options.against(against))))
    return gates.model_copy(update={"against": tuple(lists)}), sft


def report(run: options.Run, out: options.Out = None, json: options.Json = False) -> None:
    """Write the report of a run anew."""
    from pipeline import api

    path = api.report(run, out=out)
    console.result({"report": str(path)}, console.text(path), as_json=json)
