"""The command `branch`: stored rollouts taken up again at their states, for what can be learnt from a single step."""

from typing import Annotated

import typer

from pipeline.cli import options, tell
from pipeline.run.locate import reopened

Method = Annotated[
    str,
    typer.Option(
        metavar="cso|eef|pivot", help="Critical steps of failed rollouts, masks for them, or profiles of good ones."
    ),
]
Calls = Annotated[int, typer.Option(min=1, help="Begin nothing more when so many calls are used, earlier ones too.")]


def branch(
    run: options.Run, method: Method, calls: Calls = 200, out: options.Out = None, json: options.Json = False
) -> None:
    """Take rollouts of accepted pairs up again at their states, and write the data set anew with what came of it."""
    from pipeline.run import api

    folder, config = reopened(run, out)
    done = api.branch(folder, method, calls=calls, progress=_progress)
    if json:
        tell.json({"model": config.models.names(), "run": str(folder), **done.model_dump()})
        return
    rows = [("forks", done.forks), ("of them solved by a fresh sample", done.solved), ("calls", done.calls)]
    tell.show(tell.table(method, "", rows=rows))
    tell.note(config.models.names())
    if not done.complete:
        tell.say("digsite: there are more states to ask about; repeat the command with more --calls")


def _progress(forks: int, calls: int) -> None:
    tell.say(f"{forks} forks, {calls} calls")
