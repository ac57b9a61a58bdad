"""`digsite pilot`: some pairs first, then what many will cost. They are the first pairs of the run itself, so that
`generate` with the same settings goes on from them and nothing is paid for twice.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipeline.cli import options, pages, tell
from pipeline.cli.generate import SHORT
from pipeline.cli.progress import Progress, ProgressCounts
from pipeline.config import RunConfig
from pipeline.errors import BudgetExceeded
from pipeline.run.locate import reopened

if TYPE_CHECKING:
    from pipeline.dataset.figures import Figures
    from pipeline.view.forecast import Forecast

PILOT_PAIRS, FORECAST_PAIRS = 50, 1000
Wanted = Annotated[int, typer.Option("--for", min=1, help="Pairs that the forecast is for.")]


class _Asked:
    pairs: Annotated[int, typer.Option(min=1, help="Accepted pairs to try it on.")] = PILOT_PAIRS


@options.settled(
    _Asked, options.WhatOptions, options.ModelOptions, options.FieldOptions, options.Provenance, options.HowOptions
)
def pilot(settings: RunConfig, wanted: Wanted = FORECAST_PAIRS, json: options.Json = False) -> int:
    """Make a few pairs of CORPUS and tell what many would take. 'generate' with the same settings goes on from them."""
    from pipeline.run import api

    with Progress(ProgressCounts(pairs=settings.how.pairs, seeds=None)) as progress:
        try:
            result = api.generate(settings, watch=progress)
        except BudgetExceeded:
            _told(*reopened(str(settings.folder()), settings.how.out), wanted, json=json)
            raise
    _told(*reopened(str(result.folder), settings.how.out), wanted, json=json)
    return SHORT if result.exhausted else 0


def _told(folder: Path, config: RunConfig, wanted: int, *, json: bool) -> None:
    from pipeline.dataset import money
    from pipeline.dataset.figures import Share
    from pipeline.dataset.tally import tally
    from pipeline.run import publish
    from pipeline.view.forecast import forecast

    records = list(publish.records(folder, config))
    figures = tally(records).figures(publish.outside(folder))
    expected = forecast(records, config.models, wanted)
    if json:
        tell.json(_tree(folder, config, figures, expected))
        return
    tell.show(tell.table(*money.HEADS, rows=money.rows(figures.paid, figures.accepted)), "")
    accepted = Share(part=figures.accepted, whole=figures.planned)
    shares = {"yield": accepted, "candidates that fresh rollouts confirmed": figures.confirmed}
    tell.show(tell.table("pilot", "", rows=[(name, one if one.whole else "none yet") for name, one in shares.items()]))
    tell.show("", pages.projection(expected))
    tell.note(config.models.names())
    tell.say(f"the pilot is the beginning of the run {folder}: 'digsite generate' with these settings goes on from it")


def _tree(folder: Path, config: RunConfig, figures: "Figures", expected: "Forecast") -> dict[str, Any]:
    from pipeline.dataset import money

    return {
        "run": str(folder),
        "model": config.models.names(),
        "seeds": expected.seeds,
        "accepted": expected.accepted,
        "yield": expected.accepted / expected.seeds if expected.seeds else None,
        "confirmed": figures.confirmed.model_dump(),
        "spent": money.tree(figures.paid, figures.accepted),
        "forecast": expected.model_dump(),
    }
