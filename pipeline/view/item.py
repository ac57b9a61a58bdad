"""One record as its page shows it: the traces of the report, and everything that the report leaves out."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from pipeline.agents.tools import ShownPassage, all_shown
from pipeline.analysis.rollout_metrics import FailureKind
from pipeline.analysis.traces import Item, RolloutTrace, attempts, build_item, by_title, lay_out_tree
from pipeline.distractors.encounters import encounters
from pipeline.exports.report.rendering import BOLD, mark_phrases
from pipeline.text.redact import clean
from pipeline.types import (
    Branch,
    DistractorEval,
    Draft,
    Hop,
    PolicyMeasurement,
    Record,
    TeacherRollout,
    Usage,
    shown_id,
    twin_draft,
)  # fmt: skip

WHY: Mapping[FailureKind, str] = {
    FailureKind.OUT_OF_BUDGET: "gave no answer: turns, tokens or context ran out",
    FailureKind.FORMAT: "gave no answer: its calls could not be read",
    FailureKind.INVENTED: "answered although the corpus holds no answer",
    FailureKind.GAVE_UP: "answered that the corpus does not hold it",
    FailureKind.MISSED_EVIDENCE: "never saw all the evidence",
    FailureKind.PREMATURE: "gave the answer of a hop on the way",
    FailureKind.UNSUPPORTED: "right, but it had not seen what supports it",
    FailureKind.MISREAD: "saw all the evidence and answered something else",
}


def why(trace: RolloutTrace) -> str:
    """Explain in words why a rollout counts as correct or wrong."""
    verdict, process = trace.verdict, trace.process
    if verdict.correct:
        agreement = {"exact": "the same answer", "judge": "the judge accepts the answer"}.get(verdict.method, "")
        reason = f"correct: {agreement}, and it saw the evidence" if agreement else "correct"
        return f"{reason}, but it searched for what nothing had shown it" if verdict.recalled else reason
    if verdict.method == "split":
        return "wrong: the second judge did not accept the answer"
    reason = WHY[process.failure] if process and process.failure else "wrong"
    if process and process.failure is FailureKind.MISSED_EVIDENCE:
        missed_hops = [
            str(hop_number) for hop_number, first_step in enumerate(verdict.found_at, 1) if first_step is None
        ]
        reason += f" (hop {', '.join(missed_hops)})"
    return reason


class Evidence(NamedTuple):
    hop: Hop
    text: Markup
    """The passage with quote and answer marked, or the quote alone if no agent saw the passage."""
    heading: str
    """The title as agents saw it, with the date and source of the document."""
    skippable: bool


def sheet(record: Record) -> dict[str, Any]:
    """Collect the values that the page of a record shows, by their names in the page's template.

    Rollouts stand beside the measurement, twin or fork that they belong to, as a pair.
    """
    report_item, draft, distractor_eval, twin = build_item(record), record.draft, record.distractor_eval, record.twin
    return {
        "item": report_item,
        "evidence": _evidence(draft, report_item, record.skippable_hops) if draft else (),
        "tree": lay_out_tree(record),
        # The keys are the ids that agents saw.
        "distractors": {shown_id(distractor.id): distractor for distractor in distractor_eval.distractors}
        if distractor_eval
        else {},
        "pairs": _pair_traces(draft, distractor_eval) if draft and distractor_eval else (),
        "teacher_rollouts": [
            (rollout, trace._replace(met=rollout.encounters))
            for rollout, trace in zip(
                record.teacher_rollouts, _trace_rollouts(record.teacher_rollouts, draft), strict=True
            )
        ],
        "measured": _trace_measurements(record.measurements, draft),
        "twins": [
            (attempt, attempts(attempt.rollouts, attempt.verdicts, twin_draft(draft, attempt)))
            for attempt in twin.tries
        ]
        if draft and twin
        else (),
        "twins_measured": _trace_measurements(twin.measurements, twin_draft(draft, twin.used))
        if draft and twin and twin.used
        else (),
        "forks": [
            (fork, _trace_rollouts(fork.branches, draft), _trace_rollouts(fork.controls, draft))
            for fork in record.forks
        ],
        "passages": _list_passages(record, report_item),
        "usage": {role: usage for role, usage in record.usage.items() if usage.calls},
        "total": Usage.total(record.usage.values()),
    }


def _list_passages(record: Record, report_item: Item) -> tuple[ShownPassage, ...]:
    """Return the report's passages, then those shown over the overlay, to teacher and policies, and for the twin."""
    rollouts = [teacher.rollout for teacher in record.teacher_rollouts]
    if distractor_eval := record.distractor_eval:
        rollouts += [*distractor_eval.without_distractors, *distractor_eval.with_distractors]
    if twin := record.twin:
        rollouts += [rollout for attempt in twin.tries for rollout in attempt.rollouts]
    measured = (*record.measurements, *(twin.measurements if twin else ()))
    rollouts += [rollout for measurement in measured for rollout in measurement.rollouts]
    rollouts += [branch.rollout for fork in record.forks for branch in (*fork.branches, *fork.controls)]
    reported = {passage.id: passage for passage in report_item.passages}
    return by_title(reported | all_shown(rollout.trajectory for rollout in rollouts))


def _evidence(draft: Draft, report_item: Item, skippable: Sequence[int]) -> list[Evidence]:
    passages = {passage.id: passage for passage in report_item.passages}
    evidence = []
    for hop_index, hop in enumerate(draft.hops):
        passage = passages.get(shown_id(hop.passage_id))
        heading, text = (passage.title, passage.text) if passage else (hop.title, "")
        evidence.append(
            Evidence(hop, highlight_quote(text or hop.quote, hop.quote, [hop.answer]), heading, hop_index in skippable)
        )
    return evidence


def highlight_quote(text: str, quote: str, answers: Sequence[str]) -> Markup:
    """Return the text with the quote in <mark>, and the answers within the quote in <b>."""
    before, quoted, after = clean(text).partition(clean(quote)) if quote else (clean(text), "", "")
    if not quoted:
        return mark_phrases(text, [quote])
    return Markup("{}<mark>{}</mark>{}").format(before, mark_phrases(quoted, answers, BOLD), after)


def _pair_traces(draft: Draft, distractor_eval: DistractorEval) -> list[tuple[RolloutTrace, RolloutTrace]]:
    without = attempts(distractor_eval.without_distractors, distractor_eval.without_distractors_verdicts, draft)
    among = attempts(distractor_eval.with_distractors, distractor_eval.with_distractors_verdicts, draft)
    return [
        (
            plain,
            distracted._replace(
                met=encounters(draft, distractor_eval.used, distracted.rollout, correct=distracted.verdict.correct)
            ),
        )
        for plain, distracted in zip(without, among, strict=True)
    ]


def _trace_measurements(
    measurements: Sequence[PolicyMeasurement], draft: Draft | None
) -> list[tuple[PolicyMeasurement, tuple[RolloutTrace, ...]]]:
    return [(measurement, attempts(measurement.rollouts, measurement.verdicts, draft)) for measurement in measurements]


def _trace_rollouts(
    graded_rollouts: Sequence[TeacherRollout] | Sequence[Branch], draft: Draft | None
) -> tuple[RolloutTrace, ...]:
    return attempts(
        [graded.rollout for graded in graded_rollouts], [graded.verdict for graded in graded_rollouts], draft
    )
