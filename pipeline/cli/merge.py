"""The command `merge`: the shards of a run as one run."""

from pathlib import Path
from typing import Annotated

from typer import Argument

from pipeline.cli import console, options
from pipeline.cli.generate import SHORT, show
from pipeline.cli.progress import Progress
from pipeline.run import read
from pipeline.run.locate import shard_folders, spelled


def merge(
    runs: Annotated[
        list[str], Argument(metavar="RUN...", help="Folders of shards, or the name that all of them begin with.")
    ],
    out: options.Out = None,
    json: options.Json = False,
) -> int:
    """Join the shards of a run (generate --shard) into the run: gates judge once over all, then export and report."""
    from pipeline.run import api

    shards = [folder for name in runs for folder in shard_folders(name, out)]
    how = read(shards[0]).config.how
    with Progress(pairs=how.pairs, seeds=how.seeds) as progress:
        merged = api.merge(shards, out=out, watch=progress)
    result = merged.run
    config = read(result.folder).config
    run = spelled(f"{result.folder.parent.name}/{result.folder.name}", config.how.out)
    if not json:
        rows = [(Path(folder).name, lines) for folder, lines in merged.lines.items()]
        console.show(console.table("shard", "finished seeds", rows=rows))
    show(result, config, as_json=json, **merged.model_dump(mode="json", exclude={"run"}))
    for folder in merged.at_work:
        console.message(f"digsite: a process is at work on {folder}; merge again when it has ended")
    for name, lines in merged.damaged.items():
        console.message(f"digsite: lines of {name} that are damaged or of another run were left out: {lines}")
    if merged.absent:
        console.message(f"digsite: without the shards {', '.join(merged.absent)}")
    if result.complete:
        return SHORT if result.exhausted else 0
    owed = f"{merged.owed} seeds are owed" if merged.owed else "more seeds are owed"
    console.message(f"digsite: the plan is not complete: {owed}; to run them: digsite resume {run}")
    return SHORT
