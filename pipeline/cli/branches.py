"""The command `branch`: stored rollouts taken up again at their states, for what can be learnt from a single step."""

import asyncio
from typing import Annotated

import typer

from pipeline.cli import options, tell
from pipeline.cli.locate import ground, reopened

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
    from pipeline.cli import publish
    from pipeline.dataset.branching import base
    from pipeline.run import Run, prepare
    from pipeline.run.branches import Campaign

    base.load(method)
    folder, config = reopened(run, out)
    publish.whole(folder)
    prepare.reach(config)
    corpus, context = ground(folder, config)
    with Run(config, corpus, folder=folder) as opened, Campaign(method, context, folder) as campaign:
        if not json:
            tell.say(f"asking about the states of {opened.result().accepted} accepted pairs, {calls} calls at most")
        done = asyncio.run(campaign.run(opened.kept(), calls, _told))
        publish.again(folder, config)
    if json:
        tell.json({"model": config.models.names(), "run": str(folder), **done.model_dump()})
        return
    rows = [("forks", done.forks), ("of them solved by a fresh sample", done.solved), ("calls", done.calls)]
    tell.show(tell.table(method, "", rows=rows))
    tell.note(config.models.names())
    if not done.complete:
        tell.say("digsite: there are more states to ask about; repeat the command with more --calls")


def _told(forks: int, calls: int) -> None:
    tell.say(f"{forks} forks, {calls} calls")
