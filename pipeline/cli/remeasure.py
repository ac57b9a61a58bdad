"""The command `remeasure`: a run's questions tried by another solver, since difficulty ages with the solver."""

from typing import Annotated

import typer

from pipeline.cli import console, options
from pipeline.config.models import ModelConfig, inherited
from pipeline.run.locate import reopened, spelled

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
    """Try the questions of a run, unsolved ones included, with another solver; by default [models.policy]."""
    from pipeline.dataset.estimates import percent
    from pipeline.run import api

    folder, own = reopened(run, out)
    solver = _solver(own.models.of("solver"), model, base_url) if model else None
    found = api.remeasure(folder, solver=solver, progress=lambda ended: console.message(f"{ended} questions"))
    rows = [
        ("questions", found.questions),
        ("solved", found.solved),
        ("mean solve rate", percent(found.solve_rate)),
        ("opened", found.opened),
    ]
    tree = {"model": found.solver, "run": str(folder), **found.model_dump()}
    console.result(tree, console.table(found.solver, "", rows=rows), as_json=json, model=found.solver)
    if found.opened and not json:
        export = f"digsite export {spelled(run, out)} --include beyond_solver"
        console.message(f"{found.opened} that the run's solver could not solve: {export}")


def _solver(before: ModelConfig, model: str, base_urls: list[str] | None) -> ModelConfig:
    """The named model, with the settings of the run's solver for everything else."""
    address = {"base_urls": base_urls} if base_urls else {}
    return ModelConfig.model_validate(
        inherited(before.model_dump(exclude_defaults=True), {**options.model(model), **address})
    )
