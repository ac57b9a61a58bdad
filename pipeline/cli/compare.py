"""The command `compare`: two runs beside each other."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from pipeline.cli import console, options

if TYPE_CHECKING:
    from rich.console import RenderableType

    from pipeline.analysis.comparison import Comparison, RunFacts
    from pipeline.analysis.contrasts import Contrast
    from pipeline.analysis.pairing import Paired

First = Annotated[str, typer.Argument(metavar="A", help="As for 'inspect', a data set's folder, or a journal.")]
Second = Annotated[str, typer.Argument(metavar="B", help="The same, of another run.")]


def compare(first: First, second: Second, out: options.Out = None, json: options.Json = False) -> None:
    """Compare two runs: yield, cost, difficulty, and the seeds that both tried."""
    from pipeline.run import api

    found = api.compare(first, second, out=out)
    if json:
        console.json(found.model_dump(mode="json"))
        return
    console.show(_facts("A", found.first), _facts("B", found.second), *_tables(found), "")
    console.message("difference: B less A, with its 95 % interval; one that holds 0 may be chance")
    console.demo_note(" + ".join((*found.first.models, *found.second.models)))


def _facts(letter: str, run: "RunFacts") -> "RenderableType":
    from pipeline.analysis.estimates import compact

    amounts = f"{run.accepted:,} of {run.planned:,} seeds gave a pair, {compact(run.tokens)} tokens"
    return console.text(f"{letter}  {run.name}: {amounts}, {', '.join(run.models) or 'no model'}", style="bold")


def _tables(found: "Comparison") -> "Iterator[RenderableType]":
    if found.settings:
        yield from ("", console.table("setting", "A", "B", rows=[tuple(dict(one).values()) for one in found.settings]))
    yield from _table("", found.figures)
    yield from _table("how far seeds came", found.funnel)
    yield from _table("how seeds ended", found.ends)
    yield from _table("tokens for a pair, by role", found.roles)
    yield from _table("measured steps of the pairs", found.difficulty)
    yield from _table("solve rates of the pairs", found.solve_rates)
    for target in found.targets:
        steps = f"target {target.steps} {'step' if target.steps == 1 else 'steps'}"
        yield from _table(steps, (target.accepted, target.mean_steps, target.solve_rate))
    if found.paired:
        yield from _paired(found.paired)
    else:
        why = "have no seed in common" if found.same_corpus else "are not of the same corpus"
        yield from ("", console.text(f"These runs {why}: nothing is paired."))


def _table(title: str, contrasts: "Iterable[Contrast]") -> "Iterator[RenderableType]":
    from pipeline.analysis.contrasts import in_words
    from pipeline.exports.card.glossary import gloss

    rows = []
    for one in contrasts:
        counts = tuple(f"{count:,}  " for count in one.counts) if one.counts else ("", "")
        first, second = (
            count + in_words(value, one.unit) for count, value in zip(counts, (one.first, one.second), strict=True)
        )
        name = one.name.replace("_", " ") if gloss(one.name) else one.name
        rows.append((name, first, second, in_words(one.difference, one.unit, signed=True)))
    if rows:
        yield from ("", console.table(title, "A", "B", "difference", rows=rows))


def _paired(paired: "Paired") -> "Iterator[RenderableType]":
    yield ""
    yield console.text(
        f"{paired.seeds:,} seeds were tried in both ({paired.alone[0]:,} in A alone, {paired.alone[1]:,} in B alone): "
        f"{paired.both:,} gave a pair in both, {paired.first:,} in A alone, {paired.second:,} in B alone, "
        f"{paired.neither:,} in none. Of those measured in both {paired.more_steps:,} took more steps in B, "
        f"{paired.same_steps:,} as many, {paired.fewer_steps:,} fewer."
    )
    yield from _table("the same seeds", paired.contrasts)
