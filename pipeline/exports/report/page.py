"""The report of a run: one page without external scripts, links or fonts, readable in a browser and on paper.

It has at most 1 MB: an item that would exceed its share is shown with shorter traces. Any value may come from corpus or
model, so no value becomes an address, and the page's Content-Security-Policy blocks what might slip through.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import polars as pl
from markupsafe import Markup, escape

from pipeline.analysis import money
from pipeline.analysis.distractor_effect import DistractorFigures
from pipeline.analysis.figures import ACCEPTED, Outside, figures
from pipeline.analysis.published_signatures import PUBLISHED, SOURCE
from pipeline.analysis.seed_rows import TELLING, encounters_of_kind
from pipeline.analysis.traces import Item, build_item, lay_out_tree
from pipeline.config import RunConfig
from pipeline.corpus.unreadable_files import in_words
from pipeline.exports.data_set import DatasetManifest
from pipeline.exports.report import charts
from pipeline.exports.report.rendering import FOLDER, templates
from pipeline.exports.shards import TOKEN_LIMITS
from pipeline.gates.benchmarks.checked import coverage
from pipeline.loop import solve_rates as band
from pipeline.types import Record, Status

SHOWN = 10
"""Number of accepted items, and of others, on the page."""
MOST_BYTES = 1_000_000
_LONGEST = 2_000
"""Maximum length of a text outside the items; settings are not cut."""


class Detail(NamedTuple):
    """How much of an item to show."""

    text: int
    """Maximum length of a text."""
    passages: bool = False
    """Show all passages that any agent saw, in full."""
    snippets: bool = False
    """Show snippets of all results, and not only of the evidence."""
    author_steps: bool = False
    """Show the searches of generator and refiner."""
    rollout_steps: bool = False
    """Show the searches of the solver."""
    note: str = ""


_LESS = "Its traces are shortened here."
DETAILS = (
    Detail(2_000, passages=True, snippets=True, author_steps=True, rollout_steps=True),
    Detail(1_000, snippets=True, author_steps=True, rollout_steps=True),
    Detail(600, author_steps=True, rollout_steps=True, note=_LESS),
    Detail(300, rollout_steps=True, note=_LESS),
    Detail(300, note="Its traces are left out here."),
    Detail(100, note="Its traces are left out here, and long texts are cut."),
)
"""From most to least. An item is shown with the first that fits into its share of the page."""


def page(
    seeds: pl.LazyFrame,
    read: Callable[[str], Record],
    config: RunConfig,
    outside: Outside = Outside(),  # noqa: B008
    data_set: DatasetManifest | None = None,
) -> str:
    """Render the page. `read` returns the record of a key; it is called only for the items on the page."""
    run_figures = figures(seeds, outside, config.gates.policy)
    accepted, rejected = (
        [build_item(_as_in_table(read(row["key"]), row)) for row in rows]
        for rows in (seeds.filter(ACCEPTED).head(SHOWN).select(_ROW).collect().to_dicts(), _choose_rejected(seeds))
    )
    values: dict[str, Any] = {
        "f": run_figures,
        "run": run_figures.lineage.run[:12] if run_figures.lineage else config.digest()[:12],
        "data_set": data_set,
        "money": money.rows(run_figures.paid, run_figures.accepted),
        "money_heads": money.HEADS,
        "estimated_note": money.ESTIMATED,
        "rounds": charts.rounds(seeds),
        "examples": dict(_find_examples(run_figures.distractors, read)),
        "diversity": charts.diversity(seeds),
        "config": config,
        "target": band.describe_target(config),
        "published": PUBLISHED,
        "published_source": SOURCE,
        "token_limits": TOKEN_LIMITS,
        "benchmarks": coverage(config.gates),
        "settings": escape(json.dumps({**config.public_settings(), "gates": config.gates.public_settings()}, indent=2)),
        "grown": next((tree for pair in accepted if (tree := lay_out_tree(pair.record))), None),
        "unread": in_words(outside.unread),
    }
    template = _JINJA.get_template("report.html.j2")
    room = MOST_BYTES - len(template.render(values, accepted=[], rejected=[]).encode())
    if room < MOST_BYTES // 2:
        values |= {"grown": None, "examples": {}}
        room = MOST_BYTES - len(template.render(values, accepted=[], rejected=[]).encode())
    articles = _fit_articles([*enumerate(accepted, 1), *enumerate(rejected, 1)], room)
    return template.render(values, accepted=articles[: len(accepted)], rejected=articles[len(accepted) :])


def _find_examples(
    figures_by_kind: Iterable[DistractorFigures], read: Callable[[str], Record]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield for each kind of distractor the rollout with the most telling outcome, and the distractor that it met."""
    for kind, key in ((kind.kind, kind.example) for kind in figures_by_kind):
        if not kind or not key:
            continue
        record = read(key)
        if evaluation := record.distractor_eval:
            encounters = zip(evaluation.with_distractors, encounters_of_kind(record, kind), strict=True)
            pairs = [(encounter, rollout) for rollout, in_rollout in encounters for encounter in in_rollout]
            encounter, rollout = min(pairs, key=lambda pair: TELLING.index(pair[0].outcome))
            distractor = next(used for used in evaluation.used if used.id == encounter.distractor)
            yield kind, {"draft": record.draft, "distractor": distractor, "met": encounter, "rollout": rollout}


def _fit_articles(items: list[tuple[int, Item]], room: int) -> list[Markup]:
    """Render each item with as much detail as fits into its share of `room` bytes.

    The smallest items come first, so that the room that they leave goes to larger ones.
    """
    render = _JINJA.get_template("item.html.j2").module.item  # type: ignore[attr-defined]
    articles: dict[int, Markup] = {}
    full = {index: render(trace, number, DETAILS[0]) for index, (number, trace) in enumerate(items)}
    for index in sorted(full, key=lambda index: len(full[index])):
        number, trace = items[index]
        share = room // (len(items) - len(articles))
        for detail in DETAILS:
            articles[index] = full[index] if detail is DETAILS[0] else render(trace, number, detail)
            if (size := len(articles[index].encode())) <= share:
                break
        room -= size
    return [articles[index] for index in range(len(items))]


_ROW = ("key", "status", "reason")


def _choose_rejected(seeds: pl.LazyFrame) -> list[dict[str, str]]:
    """Choose the first seeds of every reason in turn among those not accepted. Return them sorted by reason."""
    turn = pl.int_range(pl.len()).over("status", "reason").alias("turn")
    rejected = seeds.filter(~ACCEPTED).select(*_ROW, "draw", turn)
    chosen = rejected.sort("turn", "status", "reason", maintain_order=True).head(SHOWN)
    return chosen.sort("reason", "draw", maintain_order=True).select(_ROW).collect().to_dicts()


def _as_in_table(record: Record, row: dict[str, str]) -> Record:
    """Set status and reason as in the table: a gate may have dropped a record that is accepted in the journal."""
    return record.model_copy(update={"status": Status(row["status"]), "reason": row["reason"]})


_JINJA = templates(FOLDER, longest=_LONGEST)
