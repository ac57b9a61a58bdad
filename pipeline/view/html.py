"""The page of a run: one file without scripts, links or fonts from elsewhere, readable in a browser and on paper.

Everything in it may come from corpus or model: no value becomes an address, and the page's own policy forbids whatever
might slip through.
"""

import json
from collections.abc import Callable
from pathlib import Path

import polars as pl

from pipeline.config import RunConfig
from pipeline.corpus.unread import in_words
from pipeline.dataset import money
from pipeline.dataset.benchmarks import coverage
from pipeline.dataset.figures import ACCEPTED, Outside, figures
from pipeline.loop import band
from pipeline.types import Record, Status
from pipeline.view import charts
from pipeline.view.distractors import example
from pipeline.view.rendering import templates
from pipeline.view.traces import grown, item

SHOWN = 10
"""Items shown of each kind."""


def page(
    seeds: pl.LazyFrame,
    read: Callable[[str], Record],
    config: RunConfig,
    outside: Outside = Outside(),  # noqa: B008
) -> str:
    """The whole page. `read` gives the record of a key: of the items that are shown, and of no other."""
    made = figures(seeds, outside, config.gates.policy)
    accepted, others = (
        [item(_as_counted(read(row["key"]), row)) for row in rows]
        for rows in (_first_accepted(seeds), _of_each_reason(seeds))
    )
    examples = [
        (one.kind, example(read(one.example), one.kind)) for one in made.distractors if one.kind and one.example
    ]
    return _JINJA.get_template("report.html.j2").render(
        f=made,
        money=money.rows(made.paid, made.accepted),
        money_heads=money.HEADS,
        rounds=charts.rounds(seeds),
        controls=charts.controls(seeds),
        examples=[(kind, found) for kind, found in examples if found],
        diversity=charts.diversity(seeds),
        config=config,
        target=band.explained(config),
        benchmarks=coverage(config.gates),
        settings=json.dumps({**config.shown(), "gates": config.gates.shown()}, indent=2),
        prompts=config.what()["prompts"],
        accepted=accepted,
        grown=next((tree for one in accepted if (tree := grown(one.record))), None),
        rejected=others,
        unread=in_words(outside.unread),
    )


_SHOWN_AS = ("key", "status", "reason")


def _first_accepted(seeds: pl.LazyFrame) -> list[dict[str, str]]:
    return seeds.filter(ACCEPTED).head(SHOWN).select(_SHOWN_AS).collect().to_dicts()


def _of_each_reason(seeds: pl.LazyFrame) -> list[dict[str, str]]:
    """Of those that were not accepted the first of every reason in turn, in the order of the reasons."""
    turn = pl.int_range(pl.len()).over("status", "reason").alias("turn")
    rest = seeds.filter(~ACCEPTED).select(*_SHOWN_AS, "draw", turn)
    chosen = rest.sort("turn", "status", "reason", maintain_order=True).head(SHOWN)
    return chosen.sort("reason", "draw", maintain_order=True).select(_SHOWN_AS).collect().to_dicts()


def _as_counted(record: Record, row: dict[str, str]) -> Record:
    """With the end that the table gives it: a gate may have dropped what the journal calls accepted."""
    return record.model_copy(update={"status": Status(row["status"]), "reason": row["reason"]})


_JINJA = templates(Path(__file__).parent)
