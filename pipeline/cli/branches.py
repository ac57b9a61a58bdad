"""The command `branch`: resamples stored rollouts from intermediate turns, for training on single steps."""

from typing import Annotated

from typer import Option

from pipeline.cli import console, options
from pipeline.run.locate import reopen


def branch(
    run: options.Run,
    method: Annotated[
        str,
        Option(
            metavar="cso|eef|pivot",
            help="cso: critical steps of failed rollouts; eef: masks for them; pivot: profiles of good ones.",
        ),
    ],
    calls: Annotated[
        int, Option(min=1, help="Start no further resampling after this many calls, including earlier ones.")
    ] = 200,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Resample stored rollouts of accepted pairs from intermediate turns, then re-export."""
    from pipeline import api

    folder, config = reopen(run, out)
    branching = api.branch(
        folder, method, calls=calls, progress=lambda forks, calls: console.message(f"{forks} forks, {calls} calls")
    )
    model = config.models.names()
    rows = [
        ("forks", branching.forks),
        ("of them solved by a fresh sample", branching.solved),
        ("calls", branching.calls),
    ]
    tree = {"model": model, "run": str(folder), **branching.model_dump()}
    console.result(tree, console.table(method, "", rows=rows), as_json=json, model=model)
    if not branching.complete and not json:
        console.message("digsite: more turns are left to resample; repeat the command with more --calls")
