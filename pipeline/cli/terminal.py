"""Renders a record for a terminal: the pair, its evidence, and its traces."""

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
    """Yield the question, its answer and its chain of evidence."""
    yield _heading(record)
    if meaning := gloss(record.reason):
        yield text(f"  {meaning}", style="dim")
    if record.draft is None:
        yield text("  no question was proposed")
        return
    if record.original not in ("", record.draft.question):
        yield _indent(text(f"was  {record.original}  (rewritten: {record.draft.origin})", style="dim"), 2)
    yield from _draft(record.draft)
    if record.seekers:
        yield _indent(text(record.step_counts.described, style="dim"), 2)


def item(record: Record) -> Iterator[Text | Padding]:
    """Yield the pair, then every round and every rollout."""
    yield from pair(record)
    trace = traces.build_item(record)
    for part in trace.parts:
        yield from _round(part, last=part is trace.parts[-1])
    for stage in record.missing:
        yield text(f"\nmissing: {stage} rollouts, which 'digsite complete' runs", style="yellow")
    if trace.confirmation:
        yield text("\nconfirmation: fresh rollouts, which had no part in choosing the question", style="bold")
        yield from _rollouts(trace.confirmation)
    if trace.seekers:
        yield text("\nseekers: attempts to find a shorter way", style="bold")
        for way, rollout in trace.seekers:
            yield text(f"  way: {way}")
            yield from _rollouts([rollout])


def _heading(record: Record) -> Text:
    reason = f" ({record.reason})" if record.reason else ""
    steps = "" if record.difficulty is None else f", needs {record.difficulty}, solved {record.solve_rate:.0%}"
    details = f"{reason}  target {record.seed.target_steps}{steps}  {record.key[:12]}"
    return Text.assemble(text(record.status, style=f"bold {_COLOUR[record.status]}"), text(details, style="dim"))


def _draft(draft: Draft) -> Iterator[Text | Padding]:
    yield _indent(text(f"Q  {draft.question}", style="bold"), 2)
    aliases = f"   (also: {'; '.join(draft.answer_aliases)})" if draft.answer_aliases else ""
    yield _indent(text(f"A  {draft.answer}{aliases}", style="bold green"), 2)
    for number, hop in enumerate(draft.hops, 1):
        yield _indent(text(f"{number}  {hop.sub_question} → {hop.answer}"), 2)
        yield _indent(text(f"“{hop.quote}” — {hop.title}", style="dim"), 5)
    for number, (computation, answer) in enumerate(draft.graph.computations, len(draft.hops) + 1):
        yield _indent(text(f"{number}  {computation} → {answer}"), 2)


def _round(part: RoundTrace, *, last: bool) -> Iterator[Text | Padding]:
    round_ = part.round
    author = "generator" if round_.index == 0 else "refiner"
    yield text(f"\nround {round_.index}: {author}", style="bold")
    if round_.agent is not None:
        yield from _calls(round_.agent)
        if round_.draft is None:
            yield text(f"  no usable proposal; ended by {round_.agent.stop.replace('_', ' ')}", style="yellow")
    if round_.draft is not None and not last:
        yield from _draft(round_.draft)
    for finding in round_.findings:
        yield text(f"  check {finding.check}: {finding.cause}  {finding.detail}", style="yellow")
    yield from _rollouts(part.attempts)
    if part.policy:
        yield text("  rollouts of the model in training", style="bold")
        yield from _rollouts(part.policy)
    if feedback := round_.feedback:
        yield text(f"  sent back: {feedback.label} ({feedback.cause})  {feedback.message}", style="yellow")


def _rollouts(attempts: Iterable[RolloutTrace]) -> Iterator[Text | Padding]:
    for rollout, verdict, _, process, _ in attempts:
        right = "right" if verdict.right else "wrong" if rollout.answered else "gave up"
        marks = ", without the evidence" * (not verdict.supported) + ", recalled" * verdict.recalled
        graded = f"[{right}{marks}; {verdict.steps} steps]"
        yield text(f"  rollout {rollout.sample}: {rollout.answer or '(no answer)'}  {graded}", style="cyan")
        if process:
            yield _indent(text(_describe_found_evidence(process), style="dim"), 5)
        yield from _calls(rollout.trajectory)


def _describe_found_evidence(metrics: RolloutMetrics) -> str:
    hops = ", ".join(
        f"{number} at step {step}" if step else f"{number} never" for number, step in enumerate(metrics.found_at, 1)
    )
    failure = f"; failed: {metrics.failure.replace('_', ' ')}" if metrics.failure else ""
    return f"evidence of hop {hops}; {metrics.useful_steps} of {metrics.steps} steps found something new{failure}"


def _calls(trajectory: Trajectory) -> Iterator[Text | Padding]:
    for number, call in enumerate(trajectory.calls, 1):
        repeat = " (repeat)" if call.repeat else ""
        hits = ", ".join(call.passage_ids[:3]) or "nothing"
        yield _indent(text(f"{number} {call.tool} “{call.argument}”{repeat} → {hits}", style="dim"), 5)


def _indent(text: Text, columns: int) -> Padding:
    return Padding(text, (0, 0, 0, columns), expand=False)


def projection(expected: "Forecast") -> Iterator[Table | Text]:
    """Yield a table of the expected cost of more pairs, and the evidence for it."""
    rows = [(name, *map(_amount, (e.value, e.low, e.high))) for name, e in expected.amounts.items()]
    basis = f"{expected.accepted} of {expected.seeds} seeds accepted"
    yield table(f"for {expected.pairs:,} pairs, by {basis}", "expected", "at least", "at most", rows=rows)
    for name, reason in expected.basis.items():
        yield text(f"{name}: {reason}", style="dim")


def _amount(amount: float | None) -> str:
    if amount is None:
        return "–"
    return f"{amount:,.0f}" if amount >= 100 else f"{amount:.4g}"
