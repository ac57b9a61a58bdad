"""The figures of a run, with the addresses of the items behind them."""

from collections.abc import Iterable
from typing import Any

import polars as pl

from pipeline.analysis import money
from pipeline.analysis.figures import figures
from pipeline.analysis.run_source import Source
from pipeline.analysis.seed_rows import STAGES, TELLING
from pipeline.exports.report import charts
from pipeline.view import plots
from pipeline.view.filters import CALLS, TOKENS
from pipeline.view.plots import filtered
from pipeline.view.query import ItemQuery


def overview(seeds: pl.LazyFrame, source: Source) -> dict[str, Any]:
    """By the names in the page's template. `links` has the addresses of items by the plot and the name of its bar, and
    `back` those of the drafts of each round by what became of them."""
    found = figures(seeds, source.outside(), source.config.gates.policy if source.config else "")
    rounds, diversity, reasons = charts.rounds(seeds), charts.diversity(seeds), list(_reasons(seeds))
    return {
        "figures": found,
        "money": money.rows(found.paid, found.accepted),
        "rounds": rounds,
        "diversity": diversity,
        "steps": plots.steps_by_target(seeds),
        "rates": plots.rates_by_steps(seeds),
        "causes": plots.causes_by_round(seeds),
        "places": list(plots.places(seeds)),
        "by_tokens": plots.by_tokens(seeds),
        "by_seconds": plots.by_seconds(source.attempts()),
        "reasons": reasons,
        "tokens": sum(reason["tokens"] for reason in reasons),
        "links": {
            "funnel": {"planned": "?"} | {name: filtered(stage=STAGES[place:]) for place, name in enumerate(STAGES)},
            "reasons": {one.name: filtered(status=("rejected", "failed"), reason=one.name) for one in found.reasons},
            "targets": {str(one.steps): filtered(target=str(one.steps)) for one in found.targets},
            "types": {
                one.name: filtered(status="accepted", answer_type=one.name)
                for one in diversity.answer_types
                if one.name
            },
            "reasoning": {one.name: filtered(status="accepted", reasoning=one.name) for one in diversity.reasoning},
            "kinds": {one.kind: filtered(kind=one.kind) for one in found.distractors if one.kind},
            "outcomes": {outcome: filtered(outcome=outcome) for outcome in TELLING},
        },
        "back": {index: _back(index, one) for index, one in rounds.items()},
    }


def _back(index: int, stage: charts.RoundFigures) -> dict[str, str]:
    """`candidates` is what the plot calls the label `candidate`."""
    names = {"candidates" if label == "candidate" else label: label for label in stage.became}
    return {name: ItemQuery(back=f"{index}:{label}").url() for name, label in names.items()}


def _reasons(seeds: pl.LazyFrame) -> Iterable[dict[str, Any]]:
    """What all seeds took that ended alike, the most tokens first."""
    amounts = {"seeds": pl.len(), "calls": CALLS.fill_null(0).sum(), "tokens": TOKENS.fill_null(0).sum()}
    found = seeds.group_by("status", pl.col("reason").fill_null("")).agg(**amounts)
    for row in found.sort("tokens", "status", "reason", descending=[True, False, False]).collect().to_dicts():
        yield row | {"url": filtered(status=row["status"], reason=row["reason"])}
