"""The command `complete`: runs optional stages again that a timeout or an unreadable answer ended."""

from pipeline.cli import console, options
from pipeline.run.locate import quote_run, reopen


def complete(run: options.Run, out: options.Out = None, json: options.Json = False) -> None:
    """Run optional stages (distractors, teacher, policies) that accepted pairs lack, then re-export."""
    from pipeline import api

    folder, config = reopen(run, out)
    found = api.complete(folder, progress=lambda ended: console.message(f"{ended} pairs"))
    model = config.models.names()
    rows = [("lacked an optional stage", found.pairs), ("complete now", found.completed)]
    rows += [(f"still without: {stage}", count) for stage, count in sorted(found.missing.items())]
    tree = {"model": model, "run": str(folder), **found.model_dump()}
    console.result(tree, console.table("pairs", "", rows=rows), as_json=json, model=model)
    if found.missing and not json:
        console.message(f"to try these again: digsite complete {quote_run(run, out)}")
