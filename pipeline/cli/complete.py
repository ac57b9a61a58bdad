"""The command `complete`: what timeouts and unreadable judges left out of the optional stages, made up."""

from pipeline.cli import options, tell
from pipeline.run.locate import reopened, spelled


def complete(run: options.Run, out: options.Out = None, json: options.Json = False) -> None:
    """Make up the distractor and teacher rollouts that accepted pairs lack, and write the data set anew with them."""
    from pipeline.run import api

    folder, config = reopened(run, out)
    found = api.complete(folder, progress=lambda ended: tell.say(f"{ended} pairs"))
    if json:
        tell.json({"model": config.models.names(), "run": str(folder), **found.model_dump()})
        return
    rows = [("lacked an optional stage", found.pairs), ("complete now", found.completed)]
    rows += [(f"still without: {stage}", count) for stage, count in sorted(found.missing.items())]
    tell.show(tell.table("pairs", "", rows=rows))
    tell.note(config.models.names())
    if found.missing:
        tell.say(f"to try these again: digsite complete {spelled(run, out)}")
