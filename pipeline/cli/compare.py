"""The command `compare`: two runs beside each other."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated

from rich.console import RenderableType
from typer import Argument

from pipeline.analysis.contrasts import Contrast, in_words
from pipeline.analysis.estimates import compact
from pipeline.cli import console, options
from pipeline.exports.card.glossary import gloss

if TYPE_CHECKING:
    from pipeline.analysis.comparison import Comparison


def compare(
    first: Annotated[str, Argument(metavar="A", help="As for 'inspect', a data set's folder, or a journal.")],
    second: Annotated[str, Argument(metavar="B", help="The same, of another run.")],
    out: options.Out = None,
    json: options.Json = False,
) -> None:
    """Compare two runs: yield, cost, difficulty, and the seeds that both tried."""
    from pipeline import api

    found = api.compare(first, second, out=out)
    if json:
        console.json(found.model_dump(mode="json"))
        return
    for letter, run in (("A", found.first), ("B", found.second)):
        amounts = f"{run.accepted:,} of {run.planned:,} seeds gave a pair, {compact(run.tokens)} tokens"
        line = f"{letter}  {run.name}: {amounts}, {', '.join(run.models) or 'no model'}"
        console.show(console.text(line, style="bold"))
    console.show(*_tables(found), "")
    console.message("difference: B less A, with its 95 % interval; one that holds 0 may be chance")
    console.demo_note(" + ".join((*found.first.models, *found.second.models)))


def _tables(found: "Comparison") -> Iterator[RenderableType]:
    if found.settings:
        yield from ("", console.table("setting", "A", "B", rows=[tuple(dict(one).values()) for one in found.settings]))
    yield from _table("", found.figures)
    yield from _table("how far seeds came", found.funnel)
    yield from _table("how seeds ended", found.ends)
    yield from _table("tokens for a pair, by role", found.roles)
    yield from _table("measured steps of the pairs", found.difficulty)
    yield from _table("solve rates of the pairs", found.solve_rates)
    yield from _table("reasoning of the pairs", found.reasoning)
    for target in found.targets:
        steps = f"target {target.steps} {'step' if target.steps == 1 else 'steps'}"
        yield from _table(steps, (target.accepted, target.mean_steps, target.solve_rate))
    yield ""
    if paired := found.paired:
        yield console.text(
            f"{paired.seeds:,} seeds were tried in both ({paired.alone[0]:,} in A alone, {paired.alone[1]:,} in B "
            f"alone): {paired.both:,} gave a pair in both, {paired.first:,} in A alone, {paired.second:,} in B alone, "
            f"{paired.neither:,} in none. Of those measured in both {paired.more_steps:,} took more steps in B, "
            f"{paired.same_steps:,} as many, {paired.fewer_steps:,} fewer."
        )
        yield from _table("the same seeds", paired.contrasts)
    else:
        why = "have no seed in common" if found.same_corpus else "are not of the same corpus"
        yield console.text(f"These runs {why}: nothing is paired.")


def _table(title: str, contrasts: Iterable[Contrast]) -> Iterator[RenderableType]:
    rows = []
    for one in contrasts:
        counts = [f"{count:,}  " for count in one.counts or ()] or ["", ""]
        sides = zip(counts, (one.first, one.second), strict=True)
        first, second = (count + in_words(value, one.unit) for count, value in sides)
        name = one.name.replace("_", " ") if gloss(one.name) else one.name
        rows.append((name, first, second, in_words(one.difference, one.unit, signed=True)))
    if rows:
        yield from ("", console.table(title, "A", "B", "difference", rows=rows))
