"""The command `compare`: shows two runs side by side."""

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

    comparison = api.compare(first, second, out=out)
    if json:
        console.json(comparison.model_dump(mode="json"))
        return
    for letter, run in (("A", comparison.first), ("B", comparison.second)):
        amounts = f"{run.accepted:,} of {run.planned:,} seeds gave a pair, {compact(run.tokens)} tokens"
        line = f"{letter}  {run.name}: {amounts}, {', '.join(run.models) or 'no model'}"
        console.show(console.text(line, style="bold"))
    console.show(*_tables(comparison), "")
    console.message("difference: B minus A, with its 95 % interval; if the interval contains 0, it may be chance")
    console.demo_note(" + ".join((*comparison.first.models, *comparison.second.models)))


def _tables(comparison: "Comparison") -> Iterator[RenderableType]:
    if comparison.settings:
        rows = [tuple(dict(setting).values()) for setting in comparison.settings]
        yield from ("", console.table("setting", "A", "B", rows=rows))
    yield from _table("", comparison.figures)
    yield from _table("how far seeds came", comparison.funnel)
    yield from _table("how seeds ended", comparison.ends)
    yield from _table("tokens for a pair, by role", comparison.roles)
    yield from _table("measured steps of the pairs", comparison.difficulty)
    yield from _table("solve rates of the pairs", comparison.solve_rates)
    yield from _table("reasoning of the pairs", comparison.reasoning)
    for target in comparison.targets:
        steps = f"target {target.steps} {'step' if target.steps == 1 else 'steps'}"
        yield from _table(steps, (target.accepted, target.mean_steps, target.solve_rate))
    yield ""
    if paired := comparison.paired:
        yield console.text(
            f"{paired.seeds:,} seeds were tried in both runs ({paired.alone[0]:,} only in A, {paired.alone[1]:,} only "
            f"in B): {paired.both:,} gave a pair in both, {paired.first:,} only in A, {paired.second:,} only in B, "
            f"{paired.neither:,} in neither. {paired.more_steps:,} seeds measured in both took more steps in B, "
            f"{paired.same_steps:,} as many, {paired.fewer_steps:,} fewer."
        )
        yield from _table("the same seeds", paired.contrasts)
    else:
        why = "have no seed in common" if comparison.same_corpus else "are not of the same corpus"
        yield console.text(f"These runs {why}, so seeds cannot be compared one by one.")


def _table(title: str, contrasts: Iterable[Contrast]) -> Iterator[RenderableType]:
    rows = []
    for contrast in contrasts:
        counts = [f"{count:,}  " for count in contrast.counts or ()] or ["", ""]
        sides = zip(counts, (contrast.first, contrast.second), strict=True)
        first, second = (count + in_words(value, contrast.unit) for count, value in sides)
        name = contrast.name.replace("_", " ") if gloss(contrast.name) else contrast.name
        rows.append((name, first, second, in_words(contrast.difference, contrast.unit, signed=True)))
    if rows:
        yield from ("", console.table(title, "A", "B", "difference", rows=rows))
