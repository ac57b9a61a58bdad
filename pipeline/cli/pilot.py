"""`digsite pilot`: some pairs first, then what many will cost. They are the first pairs of the run itself, so that
`generate` with the same settings continues from them and nothing is paid for twice.
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
from pipeline.run.locate import reopen
from pipeline.types import Share


@dataclass(kw_only=True)
class Pilot(options.RunOptions):
    """Make a few pairs of CORPUS and estimate what many would take. 'generate' with the same settings continues."""

    pairs: Annotated[int, Option(min=1, help="Accepted pairs to make first.")] = 50
    wanted: Annotated[int, Option("--forecast", min=1, help="Pairs that the forecast is for.")] = 1000
    json: options.Json = False

    def __call__(self) -> int:
        from pipeline import api
        from pipeline.run import prepare, tool_modes

        config = prepare.absolute_paths(self.settings())
        say_target(config)
        with Progress(pairs=config.how.pairs) as progress:
            try:
                result = api.generate(config, watch=progress)
            except BudgetExceeded:
                self._forecast(*reopen(str(tool_modes.resolve(config).folder()), config.how.out))
                raise
        self._forecast(*reopen(str(result.folder), config.how.out))
        return SHORT if result.exhausted else 0

    def _forecast(self, folder: Path, config: RunConfig) -> None:
        from pipeline.analysis import money
        from pipeline.analysis.figures import figures
        from pipeline.analysis.forecast import forecast
        from pipeline.run import attempts, publish
        from pipeline.run.seed_costs import seed_costs

        found = publish.RunRecords(folder, config)
        made = figures(found.seeds(), publish.outside(folder), config.gates.policy)
        pilot = seed_costs(attempts.read(folder), found)
        many = forecast(pilot, config.models, self.wanted)
        accepted = Share(part=made.accepted, whole=made.planned)
        shares = {"yield": accepted, "candidates that fresh rollouts confirmed": made.confirmed}
        tree = {
            "run": str(folder),
            "model": config.models.names(),
            "seeds": many.seeds,
            "accepted": many.accepted,
            "yield": many.accepted / many.seeds if many.seeds else None,
            "confirmed": made.confirmed.model_dump(),
            "spent": money.tree(made.paid, made.accepted),
            "forecast": many.model_dump(),
        }
        console.result(
            tree,
            console.table(*money.HEADS, rows=money.rows(made.paid, made.accepted)),
            *(console.text(note, style="dim") for note in money.notes(made.paid)),
            "",
            console.table("pilot", "", rows=[(name, one if one.whole else "none yet") for name, one in shares.items()]),
            "",
            *terminal.projection(many),
            as_json=self.json,
            model=config.models.names(),
        )
        if not self.json:
            console.message(f"the pilot began the run {folder}: 'digsite generate' with these settings continues it")
