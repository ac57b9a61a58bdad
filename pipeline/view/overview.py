"""The figures of a run, with the addresses of the items that they count."""

from collections.abc import Iterable
from typing import Any

import polars as pl

from pipeline.analysis import money
from pipeline.analysis.estimates import Count
from pipeline.analysis.figures import figures
from pipeline.analysis.run_source import Source
from pipeline.analysis.seed_rows import STAGES, TELLING
from pipeline.exports.report import charts
from pipeline.view import plots
from pipeline.view.filters import CALLS, TOKENS
from pipeline.view.plots import build_items_url
from pipeline.view.query import ItemQuery


def overview(seeds: pl.LazyFrame, source: Source) -> dict[str, Any]:
    """Collect figures and plots by their names in the page's template.

    `links` holds the addresses of items by plot and bar, and `back` those of each round's drafts by their outcome.
    """
    run_figures = figures(seeds, source.outside(), source.config.gates.policy if source.config else "")
    rounds, diversity, reasons = charts.rounds(seeds), charts.diversity(seeds), list(_reasons(seeds))
    return {
        "figures": run_figures,
        "money": money.rows(run_figures.paid, run_figures.accepted),
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
            "funnel": {"planned": "?"}
            | {name: build_items_url(stage=STAGES[stage_index:]) for stage_index, name in enumerate(STAGES)},
            "reasons": _link(run_figures.reasons, "reason", ("rejected", "failed")),
            "targets": {str(row.steps): build_items_url(target=str(row.steps)) for row in run_figures.targets},
            "types": _link([row for row in diversity.answer_types if row.name], "answer_type", ("accepted",)),
            "reasoning": _link(diversity.reasoning, "reasoning", ("accepted",)),
            "kinds": {row.kind: build_items_url(kind=row.kind) for row in run_figures.distractors if row.kind},
            "outcomes": {outcome: build_items_url(outcome=outcome) for outcome in TELLING},
        },
        "back": {index: _back(index, row) for index, row in rounds.items()},
    }


def _link(counts: Iterable[Count], name: str, status: tuple[str, ...]) -> dict[str, str]:
    return {count.name: build_items_url(status=status, **{name: count.name}) for count in counts}


def _back(index: int, round_figures: charts.RoundFigures) -> dict[str, str]:
    """Return the addresses of a round's drafts by label. The plot calls the label `candidate` `candidates`."""
    names = {"candidates" if label == "candidate" else label: label for label in round_figures.became}
    return {name: ItemQuery(back=f"{index}:{label}").url() for name, label in names.items()}


def _reasons(seeds: pl.LazyFrame) -> Iterable[dict[str, Any]]:
    amounts = {"seeds": pl.len(), "calls": CALLS.fill_null(0).sum(), "tokens": TOKENS.fill_null(0).sum()}
    totals = seeds.group_by("status", pl.col("reason").fill_null("")).agg(**amounts)
    for row in totals.sort("tokens", "status", "reason", descending=[True, False, False]).collect().to_dicts():
        yield row | {"url": build_items_url(status=row["status"], reason=row["reason"])}
