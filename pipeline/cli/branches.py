"""The command `branch`: stored rollouts resampled from intermediate turns, for training on single steps."""

from typing import Annotated

from typer import Option

from pipeline.cli import console, options
from pipeline.run.locate import reopen


def branch(
    run: options.Run,
    method: Annotated[
        str,
        Option(
            metavar="cso|eef|pivot", help="Critical steps of failed rollouts, masks for them, or profiles of good ones."
        ),
    ],
    calls: Annotated[int, Option(min=1, help="Start nothing more after this many calls, earlier ones included.")] = 200,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Resample stored rollouts of accepted pairs from intermediate turns, then re-export."""
    from pipeline import api

    folder, config = reopen(run, out)
    done = api.branch(folder, method, calls=calls, progress=_progress)
    model = config.models.names()
    rows = [("forks", done.forks), ("of them solved by a fresh sample", done.solved), ("calls", done.calls)]
    tree = {"model": model, "run": str(folder), **done.model_dump()}
    console.result(tree, console.table(method, "", rows=rows), as_json=json, model=model)
    if not done.complete and not json:
        console.message("digsite: more turns are left to resample; repeat the command with more --calls")


def _progress(forks: int, calls: int) -> None:
    console.message(f"{forks} forks, {calls} calls")
