"""The command `remeasure`: a run's questions tried by another solver, since difficulty ages with the solver."""

import asyncio
from typing import Annotated

import typer

from pipeline.cli import options, tell
from pipeline.cli.locate import ground, reopened, spelled
from pipeline.config.models import ModelConfig, inherited
from pipeline.errors import UsageError

Solver = Annotated[
    str | None, typer.Option(metavar=options.MODELS, help="The solver to try.  [the run's models.policy]")
]


def remeasure(
    run: options.Run,
    model: Solver = None,
    base_url: options.BaseUrl = None,
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Try the pairs of a run with another solver, those that were beyond its own too; by default [models.policy]."""
    from pipeline.cli import publish
    from pipeline.dataset.figures import percent
    from pipeline.run import Run, prepare
    from pipeline.run.remeasure import recast
    from pipeline.run.remeasure import remeasure as measured

    folder, own = reopened(run, out)
    publish.whole(folder)
    config = recast(own, _solver(own.models.policy, own.models.of("solver"), model, base_url))
    prepare.check(config)
    prepare.reach(config)
    corpus, context = ground(folder, config)
    with Run(own, corpus, folder=folder) as opened:
        found = asyncio.run(measured(opened.kept(), context, folder, lambda ended: tell.say(f"{ended} questions")))
        publish.again(folder, own)
    if json:
        tell.json({"model": config.models.names(), "run": str(folder), **found.model_dump()})
        return
    rows = [
        ("questions", found.questions),
        ("solved", found.solved),
        ("mean solve rate", percent(found.solve_rate)),
        ("opened", found.opened),
    ]
    tell.show(tell.table(found.solver, "", rows=rows))
    tell.note(config.models.names())
    if found.opened:
        export = f"digsite export {spelled(run, out)} --include beyond_solver"
        tell.say(f"{found.opened} that were beyond the run's solver: {export}")


def _solver(policy: ModelConfig | None, before: ModelConfig, model: str | None, base_url: str | None) -> ModelConfig:
    """The named model with the solver's own settings for all that is not said, else the run's policy."""
    if model is None:
        if policy is None:
            raise UsageError("which solver? Name one with --model, or the model to be trained in [models.policy]")
        return policy
    said = options.model(model)
    address = {"base_url": base_url} if base_url else {}
    return ModelConfig.model_validate(inherited(before.model_dump(exclude_defaults=True), {**said, **address}))
