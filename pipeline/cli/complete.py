"""The command `complete`: what timeouts and unreadable judges left out of the optional stages, made up."""

import asyncio

from pipeline.cli import options, tell
from pipeline.cli.locate import ground, reopened, spelled


def complete(run: options.Run, out: options.Out = None, json: options.Json = False) -> None:
    """Make up the distractor and teacher rollouts that accepted pairs lack, and write the data set anew with them."""
    from pipeline.cli import publish
    from pipeline.run import Run, prepare
    from pipeline.run.complete import complete as completed

    folder, config = reopened(run, out)
    prepare.check(config)
    corpus, context = ground(folder, config)
    with Run(config, corpus, folder=folder) as opened:
        found = asyncio.run(completed(opened.kept(), context, folder, lambda ended: tell.say(f"{ended} pairs")))
        if found.pairs:
            publish.again(folder, config)
            publish.report(folder, config)
    if json:
        tell.json({"model": config.models.names(), "run": str(folder), **found.model_dump()})
        return
    rows = [("lacked an optional stage", found.pairs), ("complete now", found.completed)]
    rows += [(f"still without: {stage}", count) for stage, count in sorted(found.missing.items())]
    tell.show(tell.table("pairs", "", rows=rows))
    tell.note(config.models.names())
    if found.missing:
        tell.say(f"to try these again: digsite complete {spelled(run, out)}")
