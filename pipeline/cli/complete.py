"""The command `complete`: repeats optional stages that a timeout or an unreadable answer ended."""

from pipeline.cli import console, options
from pipeline.run.locate import quote_run, reopen


def complete(run: options.Run, out: options.Out = None, json: options.Json = False) -> None:
    """Run optional stages (distractors, teacher, policies) that accepted pairs lack, then re-export."""
    from pipeline import api

    folder, config = reopen(run, out)
    completion = api.complete(folder, progress=lambda ended: console.message(f"{ended} pairs"))
    model = config.models.names()
    rows = [("lacked an optional stage", completion.pairs), ("complete now", completion.completed)]
    rows += [(f"still without: {stage}", count) for stage, count in sorted(completion.missing.items())]
    tree = {"model": model, "run": str(folder), **completion.model_dump()}
    console.result(tree, console.table("pairs", "", rows=rows), as_json=json, model=model)
    if completion.missing and not json:
        console.message(f"to try these again: digsite complete {quote_run(run, out)}")
