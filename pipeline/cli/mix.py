"""The command `mix`: joins several runs into one data set."""

from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from pipeline.cli import console, options
from pipeline.cli.export import View, say_views
from pipeline.config.exports import GateConfig, SftConfig
from pipeline.run import read
from pipeline.run.locate import run_folder


def mix(  # noqa: PLR0913, PLR0917 - options of the user
    runs: Annotated[list[str], Argument(metavar="RUN...", help="Runs, each as for 'inspect'.")],
    into: Annotated[
        Path,
        Option("-o", "--into", file_okay=False, help="Folder of the mix; an earlier mix there gets a new version."),
    ],
    quota: Annotated[
        list[str] | None,
        Option(metavar="TRAIT:VALUE=SHARE", help="Share of the pairs, such as band:hard=0.3. Repeatable."),
    ] = None,
    pairs: Annotated[
        int | None, Option(min=1, help="At most this many pairs.  [as many as meet every quota exactly]")
    ] = None,
    version: Annotated[str, Option(metavar="NAME", help="Name of the version.  [1, 2, ...]")] = "",
    policy: Annotated[
        str | None, Option("--for", metavar="NAME", help="The policy whose bands count.  [the policy of the runs]")
    ] = None,
    view: View = None,
    sets: Annotated[
        list[str] | None,
        Option("--set", metavar="GATES.B=C", help="A limit of a gate, or of sft. Repeatable.  [what the runs share]"),
    ] = None,
    allow_removal: options.AllowRemoval = None,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Join runs of one or several corpora into one data set without duplicates, with a version and its changes."""
    from pipeline import api
    from pipeline.exports.mix import mix_version

    folders = [run_folder(run, out) for run in runs]
    gates, sft = _update_gates(folders, sets or [], policy)
    manifest = api.mix(
        folders,
        into,
        quotas=quota or (),
        pairs=pairs,
        views=options.split_names(view),
        version=version,
        gates=gates,
        sft=sft,
        allow_removal=bool(allow_removal),
    )
    mixed = mix_version.read(into)
    assert mixed  # noqa: S101 - `api.mix` has just written it
    if json:
        console.json({"mix": mixed.model_dump(mode="json", exclude={"settings"}), **manifest.model_dump(mode="json")})
        return
    console.show(console.rows_of_views(manifest.rows()), "")
    if mixed.quotas:
        rows = [(q.name, f"{q.share:.0%}", q.wanted, q.taken, q.there) for q in mixed.quotas]
        console.show(console.table("quota", "share", "wanted", "taken", "available", rows=rows), "")
    changes = mixed.changes
    since = f"; since {changes.before}: +{changes.added} -{changes.removed}, {changes.changed} changed"
    summary = f"version {mixed.version}, {sum(mixed.pairs.values())} pairs{since if changes.before else ''}: {into}"
    console.show(console.text(summary))
    say_views(manifest)
    for q in mixed.quotas:
        if q.short:
            console.message(f"digsite: {q.name} is short of {q.short} pairs: {q.taken} of {q.wanted}")
    if mixed.left_out:
        console.message(f"digsite: the runs have several environments; left out: {', '.join(mixed.left_out)}")
    console.demo_note(" + ".join(lineage.model for lineage in mixed.runs))


def _update_gates(
    folders: list[Path], sets: list[str], policy: str | None
) -> tuple[GateConfig | None, SftConfig | None]:
    """Return what the runs share with the changes of the options, or None if there are none."""
    from pipeline.afterwards import mixing

    if not sets and policy is None:
        return None, None
    gates, sft = mixing.find_shared_settings([read(folder).config for folder in folders])
    before = {"gates": gates.model_dump(mode="json"), "sft": sft.model_dump(mode="json")}
    before["gates"] |= {} if policy is None else {"policy": policy}
    return options.build_gates_and_sft("mix", before, sets)
