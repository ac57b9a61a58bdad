"""A record as a person reads it on a terminal: the pair, its evidence, and how it came about."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from pipeline.analysis import traces
from pipeline.analysis.rollout_metrics import RolloutMetrics
from pipeline.analysis.traces import RolloutTrace, RoundTrace
from pipeline.cli.console import table, text
from pipeline.exports.card.glossary import gloss
from pipeline.types import Draft, Record, Status, Trajectory

if TYPE_CHECKING:
    from pipeline.analysis.forecast import Forecast

_COLOUR = {Status.ACCEPTED: "green", Status.REJECTED: "yellow", Status.FAILED: "red"}


def pair(record: Record) -> Iterator[Text | Padding]:
    """The question, its answer and its chain of evidence."""
    yield _heading(record)
    if meaning := gloss(record.reason):
        yield text(f"  {meaning}", style="dim")
    if record.draft is None:
        yield text("  no question came of it")
        return
    if record.original not in ("", record.draft.question):
        yield _in(text(f"was  {record.original}  (rewritten: {record.draft.origin})", style="dim"), 2)
    yield from _draft(record.draft)
    if record.seekers:
        yield _in(text(record.step_counts.described, style="dim"), 2)


def item(record: Record) -> Iterator[Text | Padding]:
    """The pair, then every round and every rollout."""
    yield from pair(record)
    shown = traces.item(record)
    for part in shown.parts:
        yield from _round(part, last=part is shown.parts[-1])
    for stage in record.missing:
        yield text(f"\nmissing: {stage} rollouts, which 'digsite complete' runs", style="yellow")
    if shown.confirmation:
        yield text("\nconfirmation: fresh rollouts, from which honest steps and solve rate come", style="bold")
        yield from _rollouts(shown.confirmation)
    if shown.seekers:
        yield text("\nseekers: tries to find a shorter way", style="bold")
        for way, trace in shown.seekers:
            yield text(f"  way: {way}")
            yield from _rollouts([trace])


def _heading(record: Record) -> Text:
    reason = f" ({record.reason})" if record.reason else ""
    measured = "" if record.difficulty is None else f", needs {record.difficulty}, solved {record.solve_rate:.0%}"
    rest = f"{reason}  target {record.seed.target_steps}{measured}  {record.key[:12]}"
    return Text.assemble(text(record.status, style=f"bold {_COLOUR[record.status]}"), text(rest, style="dim"))


def _draft(draft: Draft) -> Iterator[Text | Padding]:
    yield _in(text(f"Q  {draft.question}", style="bold"), 2)
    also = f"   (also: {'; '.join(draft.answer_aliases)})" if draft.answer_aliases else ""
    yield _in(text(f"A  {draft.answer}{also}", style="bold green"), 2)
    for number, hop in enumerate(draft.hops, 1):
        yield _in(text(f"{number}  {hop.sub_question} → {hop.answer}"), 2)
        yield _in(text(f"“{hop.quote}” — {hop.title}", style="dim"), 5)
    for number, (computation, answer) in enumerate(draft.graph.computations, len(draft.hops) + 1):
        yield _in(text(f"{number}  {computation} → {answer}"), 2)


def _round(part: RoundTrace, *, last: bool) -> Iterator[Text | Padding]:
    played = part.round
    who = "generator" if played.index == 0 else "refiner"
    yield text(f"\nround {played.index}: {who}", style="bold")
    if played.agent is not None:
        yield from _calls(played.agent)
        if played.draft is None:
            yield text(f"  proposed nothing usable; ended by {played.agent.stop.replace('_', ' ')}", style="yellow")
    if played.draft is not None and not last:
        yield from _draft(played.draft)
    for finding in played.findings:
        yield text(f"  check {finding.check}: {finding.cause}  {finding.detail}", style="yellow")
    yield from _rollouts(part.attempts)
    if part.policy:
        yield text("  tries of the model that the pairs are for", style="bold")
        yield from _rollouts(part.policy)
    if played.feedback is not None:
        back = played.feedback
        yield text(f"  sent back: {back.label} ({back.cause})  {back.message}", style="yellow")


def _rollouts(attempts: Iterable[RolloutTrace]) -> Iterator[Text | Padding]:
    for rollout, verdict, _, process, _ in attempts:
        right = "right" if verdict.right else "wrong" if rollout.answered else "gave up"
        marks = ", without the evidence" * (not verdict.supported) + ", recalled" * verdict.recalled
        graded = f"[{right}{marks}; {verdict.steps} steps]"
        yield text(f"  rollout {rollout.sample}: {rollout.answer or '(no answer)'}  {graded}", style="cyan")
        if process:
            yield _in(text(_course(process), style="dim"), 5)
        yield from _calls(rollout.trajectory)


def _course(fields: RolloutMetrics) -> str:
    """How it went: where each hop's evidence came up, and what the rollout failed of."""
    hops = ", ".join(
        f"{number} at step {at}" if at else f"{number} never" for number, at in enumerate(fields.found_at, 1)
    )
    failed = f"; failed: {fields.failure.replace('_', ' ')}" if fields.failure else ""
    return f"evidence of hop {hops}; {fields.useful_steps} of {fields.steps} steps brought anything new{failed}"


def _calls(trajectory: Trajectory) -> Iterator[Text | Padding]:
    for number, call in enumerate(trajectory.calls, 1):
        repeat = " (repeat)" if call.repeat else ""
        found = ", ".join(call.passage_ids[:3]) or "nothing"
        yield _in(text(f"{number} {call.tool} “{call.argument}”{repeat} → {found}", style="dim"), 5)


def _in(text: Text, columns: int) -> Padding:
    return Padding(text, (0, 0, 0, columns), expand=False)


def projection(expected: "Forecast") -> Iterator[Table | Text]:
    """A table of what so many pairs will take, and what it rests on."""
    rows = [(name, *map(_amount, (e.value, e.low, e.high))) for name, e in expected.amounts.items()]
    basis = f"{expected.accepted} of {expected.seeds} seeds accepted"
    yield table(f"for {expected.pairs:,} pairs, by {basis}", "expected", "at least", "at most", rows=rows)
    for name, reason in expected.basis.items():
        yield text(f"{name}: {reason}", style="dim")


def _amount(amount: float | None) -> str:
    if amount is None:
        return "–"
    return f"{amount:,.0f}" if amount >= 100 else f"{amount:.4g}"
