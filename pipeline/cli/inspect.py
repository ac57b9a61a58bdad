"""The command `inspect`: counts how the seeds of a run ended, lists them, or shows one in full."""

import textwrap
from collections.abc import Iterable
from typing import Annotated, Any

import polars as pl
from typer import Option

from pipeline.analysis.estimates import count_values
from pipeline.cli import console, options, terminal
from pipeline.errors import unknown
from pipeline.exports.card.glossary import gloss
from pipeline.llm.ledger import Spending
from pipeline.run import read
from pipeline.run.attempts import total_spending
from pipeline.run.locate import quote_run, run_folder
from pipeline.types import Status
from pipeline.view.query import ItemQuery, select_rows

LIMIT = 20
ITEM = (
    "key", "status", "reason", "gate_detail", "target_steps", "difficulty", "solve_rate", "question", "answer",
    "answer_type", "passage_id", "rounds", "missing",
)  # fmt: skip
"""The columns of an item in JSON. `docs/reference/columns.md` explains them."""
_KEY = 12
_MAX_LINES, _MIN_WIDTH = 3, 20
"""Limits for a question in the table."""


def inspect(  # noqa: PLR0913, PLR0917 - options of the user
    run: options.Run,
    item: Annotated[
        str | None,
        Option(metavar="KEY", help="Show one seed with all its traces; the first digits of its key are enough."),
    ] = None,
    status: Annotated[list[str] | None, Option(metavar="A,B", help="accepted, rejected, failed.")] = None,
    reason: Annotated[
        list[str] | None,
        Option(metavar="A,B", help="Only seeds with these reasons, such as below_range or gate:leak."),
    ] = None,
    target: Annotated[list[int] | None, Option(help="Only seeds with this target. Repeatable.")] = None,
    search: Annotated[
        str | None,
        Option(
            metavar="WORDS", help='Only seeds whose question, answer or titles contain all the words, or a "phrase".'
        ),
    ] = None,
    limit: Annotated[int | None, Option(min=1, help=f"List at most this many seeds.  [{LIMIT}; all with --json]")] = (
        None
    ),
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Show how the seeds of a run ended and what it cost, list them, or show one in full."""
    from pipeline.analysis import money
    from pipeline.run import publish

    folder = run_folder(run, out)
    config = read(folder).config
    if item is not None:
        record = publish.record_of(folder, config, item)
        console.result(record.model_dump(mode="json"), *terminal.item(record), as_json=json, model=record.lineage.model)
        return
    seeds, surplus = publish.read_ended_seeds(folder, config)
    filters = {
        "status": options.split_names(status),
        "reason": options.split_names(reason),
        "target": map(str, target or ()),
    }
    chosen = {name: tuple(values) for name, values in filters.items() if values}
    _check_filters(chosen, seeds)
    query = ItemQuery(search=search or "", chosen=chosen)
    matches = select_rows(seeds, query).sort("plan_order").select(ITEM)
    matching = matches.select(pl.len()).collect().item()
    items = matches.head(limit or (matching if json else LIMIT)).collect().to_dicts()
    counts = _count_outcomes(seeds) | ({"surplus": surplus} if surplus else {})
    pairs = sum(count for outcome, count in counts.items() if outcome.startswith(Status.ACCEPTED))
    if json:
        tree = money.tree(total_spending(folder), pairs)
        console.json({"run": str(folder), "counts": counts, "spent": tree, "matching": matching, "items": items})
        return
    if not query.filtered:
        rows = [(name, n, gloss(name.partition(" (")[2].removesuffix(")") or name)) for name, n in counts.items()]
        planned = f"{sum(counts.values()) - surplus:,} seeds" + (f", {surplus:,} spare" if surplus else "")
        console.show(console.text(f"{folder}: {planned}", style="bold"))
        console.show(console.table("outcome", "seeds", "meaning", rows=rows), "")
        _show_costs(total_spending(folder), pairs)
        console.demo_note(config.models.names())
        _show_missing_stages(seeds, quote_run(run, out))
    _show_items(items, matching, quote_run(run, out))


def _check_filters(chosen: dict[str, tuple[str, ...]], seeds: pl.LazyFrame) -> None:
    """Raise UsageError for a status that does not exist, or a reason or target that no seed of the run has."""
    allowed = {"status": list(Status)}
    for name, column in (("reason", "reason"), ("target", "target_steps")):
        if name in chosen:
            column_values = seeds.select(pl.col(column).unique().sort().cast(pl.String)).collect()[column]
            allowed[name] = [value for value in column_values if value]
    for name, values in chosen.items():
        if invalid := [value for value in values if value not in allowed[name]]:
            raise unknown(f"seed with --{name}", invalid[0], allowed[name])


def _count_outcomes(seeds: pl.LazyFrame) -> dict[str, int]:
    """Return the number of seeds by status and reason, the largest first."""
    reason = pl.when(pl.col("reason").fill_null("") != "").then(pl.format(" ({})", "reason")).otherwise(pl.lit(""))
    outcomes = seeds.select(outcome=pl.col("status") + reason)
    return {outcome.name: outcome.count for outcome in count_values(outcomes, "outcome")}


def _show_costs(spending: Spending, pairs: int) -> None:
    from pipeline.analysis import money

    console.show(console.table(*money.HEADS, rows=money.rows(spending, pairs)))
    console.show(*(console.text(note, style="dim") for note in money.notes(spending)), "")


def _show_missing_stages(seeds: pl.LazyFrame, run: str) -> None:
    accepted = seeds.filter(pl.col("status") == Status.ACCEPTED)
    for stage in count_values(accepted.explode("missing").drop_nulls("missing"), "missing"):
        console.show(console.text(f"accepted pairs without all {stage.name} rollouts: {stage.count:,}"))
        console.message(f"to complete them: digsite complete {run}")


def _show_items(items: list[dict[str, Any]], matching: int, run: str) -> None:
    if not items:
        console.message("no seeds match")
        return
    console.show(console.table("key", "outcome", "target", "steps", "question", rows=_rows(items)))
    if matching > len(items):
        console.message(f"{len(items):,} of {matching:,} seeds; for more: --limit {matching}")
    console.message(f"to see one in full: digsite inspect {run} --item {items[0]['key'][:_KEY]}")


def _rows(items: list[dict[str, Any]]) -> Iterable[tuple[object, ...]]:
    outcomes = [item["reason"] or item["status"] for item in items]
    columns_and_gaps = _KEY + max(map(len, ("outcome", *outcomes))) + len("target") + len("steps") + 4 * 2
    width = max(_MIN_WIDTH, console.PlainConsole(error=False).width - columns_and_gaps)
    for item, outcome in zip(items, outcomes, strict=True):
        steps = "–" if item["difficulty"] is None else item["difficulty"]
        lines = textwrap.wrap(item["question"] or "–", width, max_lines=_MAX_LINES, placeholder=" …")
        yield item["key"][:_KEY], outcome, item["target_steps"], steps, "\n".join(lines)
