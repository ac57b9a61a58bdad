"""The command `pilot`: makes a few pairs, then estimates the cost of many.

The pairs are the first ones of the run itself, so `generate` with the same settings continues from them and nothing is
paid for twice.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Option

from pipeline.cli import console, options, terminal
from pipeline.cli.generate import SHORT, say_target
from pipeline.cli.progress import Progress
from pipeline.config import RunConfig
from pipeline.errors import BudgetExceeded
from pipeline.run import attempts
from pipeline.run.locate import reopen
from pipeline.types import Share


@dataclass(kw_only=True)
class Pilot(options.RunOptions):
    """Make a few pairs of CORPUS and estimate what many would cost. 'generate' with the same settings continues."""

    pairs: Annotated[int, Option(min=1, help="Accepted pairs to make first.")] = 50
    forecast_pairs: Annotated[int, Option("--forecast", min=1, help="Estimate the cost of this many pairs.")] = 1000
    json: options.Json = False

    def __call__(self) -> int:
        from pipeline import api
        from pipeline.run import prepare, tool_modes

        config = prepare.absolute_paths(self.settings())
        say_target(config)
        with Progress(pairs=config.runtime.pairs) as progress:
            try:
                result = api.generate(config, watch=progress)
            except BudgetExceeded:
                self._show_forecast(*reopen(str(tool_modes.resolve(config).folder()), config.runtime.out))
                raise
        self._show_forecast(*reopen(str(result.folder), config.runtime.out))
        return SHORT if result.exhausted else 0

    def _show_forecast(self, folder: Path, config: RunConfig) -> None:
        from pipeline.analysis import money
        from pipeline.analysis.figures import figures
        from pipeline.analysis.forecast import forecast
        from pipeline.run import publish
        from pipeline.run.seed_costs import seed_costs

        records = publish.RunRecords(folder, config)
        pilot = figures(records.seeds(), publish.outside(folder), config.gates.policy)
        costs = seed_costs(attempts.read(folder), records)
        expected = forecast(costs, config.models, self.forecast_pairs)
        accepted = Share(part=pilot.accepted, whole=pilot.planned)
        shares = {"yield": accepted, "candidates that were accepted": pilot.confirmed}
        tree = {
            "run": str(folder),
            "model": config.models.names(),
            "seeds": expected.seeds,
            "accepted": expected.accepted,
            "yield": expected.accepted / expected.seeds if expected.seeds else None,
            "confirmed": pilot.confirmed.model_dump(),
            "spent": money.tree(pilot.paid, pilot.accepted),
            "forecast": expected.model_dump(),
        }
        rows = [(name, share if share.whole else "none yet") for name, share in shares.items()]
        console.result(
            tree,
            console.table(*money.HEADS, rows=money.rows(pilot.paid, pilot.accepted)),
            *(console.text(note, style="dim") for note in money.notes(pilot.paid)),
            "",
            console.table("pilot", "", rows=rows),
            "",
            *terminal.projection(expected),
            as_json=self.json,
            model=config.models.names(),
        )
        if not self.json:
            console.message(f"the pilot started the run {folder}: 'digsite generate' with these settings continues it")
