"""The figures of a run, with the addresses of the items behind them."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import polars as pl

from pipeline.analysis import money
from pipeline.analysis.figures import Figures, figures
from pipeline.analysis.run_source import Source
from pipeline.analysis.seed_rows import STAGES, TELLING
from pipeline.exports.report import charts
from pipeline.view import plots
from pipeline.view.columns import CALLS, TOKENS
from pipeline.view.plots import Column, Curve, Matrix, filtered
from pipeline.view.query import Query


class ReasonCost(NamedTuple):
    """What all seeds took that ended alike."""

    status: str
    reason: str
    seeds: int
    calls: int
    tokens: int
    url: str


class Overview(NamedTuple):
    figures: Figures
    money: list[money.Row]
    rounds: dict[int, charts.RoundFigures]
    controls: charts.Controls
    diversity: charts.Diversity
    steps: Matrix
    rates: Matrix
    causes: Matrix
    places: tuple[Column, ...]
    by_tokens: Curve | None
    by_seconds: Curve | None
    reasons: tuple[ReasonCost, ...]
    """The most tokens first."""
    links: Mapping[str, Mapping[str, str]]
    """Addresses of items, by the plot and the name of its bar."""
    back: Mapping[int, Mapping[str, str]]
    """The same of the drafts of each round, by what became of them."""

    @property
    def tokens(self) -> int:
        return sum(reason.tokens for reason in self.reasons)


def overview(seeds: pl.LazyFrame, source: Source) -> Overview:
    found = figures(seeds, source.outside(), source.config.gates.policy if source.config else "")
    rounds, diversity = charts.rounds(seeds), charts.diversity(seeds)
    return Overview(
        figures=found,
        money=money.rows(found.paid, found.accepted),
        rounds=rounds,
        controls=charts.controls(seeds),
        diversity=diversity,
        steps=plots.steps_by_target(seeds),
        rates=plots.rates_by_steps(seeds),
        causes=plots.causes_by_round(seeds),
        places=tuple(plots.places(seeds)),
        by_tokens=plots.by_tokens(seeds),
        by_seconds=plots.by_seconds(source.attempts()),
        reasons=tuple(_reasons(seeds)),
        links={
            "funnel": {"planned": "?"} | {name: filtered(stage=STAGES[place:]) for place, name in enumerate(STAGES)},
            "reasons": {one.name: filtered(status=("rejected", "failed"), reason=one.name) for one in found.reasons},
            "targets": {str(one.steps): filtered(target=str(one.steps)) for one in found.targets},
            "types": {
                one.name: filtered(status="accepted", answer_type=one.name)
                for one in diversity.answer_types
                if one.name
            },
            "kinds": {one.kind: filtered(kind=one.kind) for one in found.distractors if one.kind},
            "outcomes": {outcome: filtered(outcome=outcome) for outcome in TELLING},
        },
        back={index: _back(index, one) for index, one in rounds.items()},
    )


def _back(index: int, stage: charts.RoundFigures) -> dict[str, str]:
    """`candidates` is what the plot calls the label `candidate`."""
    names = {"candidates" if label == "candidate" else label: label for label in stage.became}
    return {name: Query(back=f"{index}:{label}").url() for name, label in names.items()}


def _reasons(seeds: pl.LazyFrame) -> Iterable[ReasonCost]:
    amounts = (
        pl.len().alias("seeds"),
        CALLS.fill_null(0).sum().alias("calls"),
        TOKENS.fill_null(0).sum().alias("tokens"),
    )
    found = seeds.group_by("status", pl.col("reason").fill_null("")).agg(amounts)
    found = found.sort("tokens", "status", "reason", descending=[True, False, False])
    for status, reason, number, calls, tokens in found.collect().rows():
        yield ReasonCost(status, reason, number, calls, tokens, filtered(status=status, reason=reason))
