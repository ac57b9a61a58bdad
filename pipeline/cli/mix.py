"""The command `mix`: several runs as one data set."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from pipeline.cli import console, options
from pipeline.cli.export import View, say_views
from pipeline.config.gates import GateConfig
from pipeline.config.sft_settings import SftConfig
from pipeline.run import read
from pipeline.run.locate import run_folder


def mix(  # noqa: PLR0913, PLR0917 - options of the user
    runs: Annotated[list[str], Argument(metavar="RUN...", help="Runs, each as for 'inspect'.")],
    into: Annotated[Path, Option("-o", "--into", file_okay=False, help="The folder of the mix, or of an earlier one.")],
    quota: Annotated[
        list[str] | None,
        Option(metavar="TRAIT:VALUE=SHARE", help="Share of the pairs, such as band:hard=0.3. Repeatable."),
    ] = None,
    pairs: Annotated[
        int | None, Option(min=1, help="Most pairs.  [as many as there are with every quota exact]")
    ] = None,
    version: Annotated[str, Option(metavar="NAME", help="Name of the version.  [1, 2, ...]")] = "",
    policy: Annotated[
        str | None, Option("--for", metavar="NAME", help="The policy whose bands count.  [that of the runs]")
    ] = None,
    view: View = None,
    sets: Annotated[
        list[str] | None,
        Option(
            "--set", metavar="GATES.B=C", help="A limit of a gate, or of sft; else what the runs share. Repeatable."
        ),
    ] = None,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Join runs, of one corpus or several, into one data set: deduplicated over all, with a version and its changes."""
    from pipeline import api
    from pipeline.exports.mix import mix_version

    folders = [run_folder(run, out) for run in runs]
    gates, sft = _chosen(folders, sets or [], policy)
    manifest = api.mix(
        folders, into, quotas=quota or (), pairs=pairs, views=options.parts(view), version=version, gates=gates, sft=sft
    )
    made = mix_version.read(into)
    assert made  # noqa: S101 - it has just been written
    if json:
        console.json({"mix": made.model_dump(mode="json", exclude={"settings"}), **manifest.model_dump(mode="json")})
        return
    console.show(console.rows_of_views(manifest.rows()), "")
    if made.quotas:
        met = [(q.name, f"{q.share:.0%}", q.wanted, q.taken, q.there) for q in made.quotas]
        console.show(console.table("quota", "share", "wanted", "taken", "there were", rows=met), "")
    changes = made.changes
    since = f"; since {changes.before}: +{changes.added} -{changes.removed}, {changes.changed} changed"
    told = f"version {made.version}, {sum(made.pairs.values())} pairs{since if changes.before else ''}: {into}"
    console.show(console.text(told))
    say_views(manifest)
    for q in made.quotas:
        if q.short:
            console.message(f"digsite: {q.name} is short of {q.short} pairs: {q.taken} of {q.wanted}")
    if made.left_out:
        console.message(f"digsite: the runs have several environments; left out: {', '.join(made.left_out)}")
    console.demo_note(" + ".join(lineage.model for lineage in made.runs))


def _chosen(folders: list[Path], sets: list[str], policy: str | None) -> tuple[GateConfig | None, SftConfig | None]:
    """Gates and selection of the mix; none where what the runs share is not changed."""
    from pipeline.afterwards import mixing

    if not sets and policy is None:
        return None, None
    gates, sft = mixing.find_shared_settings([read(folder).config for folder in folders])
    before = {"gates": gates.model_dump(mode="json"), "sft": sft.model_dump(mode="json")}
    before["gates"] |= {} if policy is None else {"policy": policy}
    return options.gates_and_sft("mix", before, sets)
