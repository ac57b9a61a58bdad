"""One record as its page shows it: the report's traces of it, and all that the report leaves out."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from pipeline.agents.tools import ShownPassage, all_shown
from pipeline.analysis.rollout_metrics import FailureKind
from pipeline.analysis.traces import Item, RolloutTrace, attempts, by_title, grown, item
from pipeline.distractors.encounters import encounters
from pipeline.exports.report.rendering import BOLD, marked
from pipeline.text.redact import clean
from pipeline.types import (
    Branch,
    ChangedPremise,
    DistractorEval,
    Draft,
    Hop,
    PolicyMeasurement,
    Record,
    TeacherRollout,
    Twin,
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
    """In words, why a rollout counts as it does."""
    verdict, process = trace.verdict, trace.process
    if verdict.correct:
        how = {"exact": "the same answer", "judge": "the judge accepts the answer"}.get(verdict.method, "")
        why = f"correct: {how}, and it saw the evidence" if how else "correct"
        return f"{why}, but it searched for what nothing had shown it" if verdict.recalled else why
    if verdict.method == "split":
        return "wrong: the second judge did not accept the answer"
    reason = WHY[process.failure] if process and process.failure else "wrong"
    if process and process.failure is FailureKind.MISSED_EVIDENCE:
        lost = [str(number) for number, step in enumerate(verdict.found_at, 1) if step is None]
        reason += f" (hop {', '.join(lost)})"
    return reason


class Evidence(NamedTuple):
    hop: Hop
    text: Markup
    """Its passage with the quote and the answer marked, or the quote alone where no agent saw the passage."""
    heading: str
    """As it was shown: with the date and source of its document."""
    skippable: bool


def sheet(record: Record) -> dict[str, Any]:
    """What the page of a record shows of it, by the names in the page's template. What was made of a thing, such as
    the rollouts of a measurement, stands beside it as a pair."""
    found, draft, tried, twin = item(record), record.draft, record.distractor_eval, record.twin
    return {
        "item": found,
        "evidence": _evidence(draft, found, record.skippable_hops) if draft else (),
        "tree": grown(record),
        # By the ids that agents were shown.
        "distractors": {shown_id(one.id): one for one in tried.distractors} if tried else {},
        "pairs": _pairs(draft, tried) if draft and tried else (),
        "teacher_rollouts": [
            (one, trace._replace(met=one.encounters))
            for one, trace in zip(record.teacher_rollouts, _single(record.teacher_rollouts, draft), strict=True)
        ],
        "measured": _tries(record.measurements, draft),
        "twins": _twins(draft, twin) if draft and twin else (),
        "twins_measured": _tries(twin.measurements, twin_draft(draft, twin.used))
        if draft and twin and twin.used
        else (),
        "forks": [(one, _single(one.branches, draft), _single(one.controls, draft)) for one in record.forks],
        "passages": _passages(record, found),
        "usage": {role: used for role, used in record.usage.items() if used.calls},
        "total": Usage.total(record.usage.values()),
    }


def _passages(record: Record, found: Item) -> tuple[ShownPassage, ...]:
    """Those of the report, and what was shown over the overlay, to teacher and policies, and of the twin."""
    rollouts = [one.rollout for one in record.teacher_rollouts]
    if tried := record.distractor_eval:
        rollouts += [*tried.without_distractors, *tried.with_distractors]
    if twin := record.twin:
        rollouts += [rollout for one in twin.tries for rollout in one.rollouts]
    measured = (*record.measurements, *(twin.measurements if twin else ()))
    rollouts += [rollout for one in measured for rollout in one.rollouts]
    rollouts += [branch.rollout for fork in record.forks for branch in (*fork.branches, *fork.controls)]
    known = {passage.id: passage for passage in found.passages}
    return by_title(known | all_shown(one.trajectory for one in rollouts))


def _evidence(draft: Draft, found: Item, skippable: Sequence[int]) -> list[Evidence]:
    passages = {passage.id: passage for passage in found.passages}
    made = []
    for number, hop in enumerate(draft.hops):
        passage = passages.get(shown_id(hop.passage_id))
        heading, text = (passage.title, passage.text) if passage else (hop.title, "")
        made.append(
            Evidence(hop, highlighted(text or hop.quote, hop.quote, [hop.answer]), heading, number in skippable)
        )
    return made


def highlighted(text: str, quote: str, answers: Sequence[str]) -> Markup:
    """The text with the quote in <mark>, and the answers within it in <b>."""
    before, quoted, after = clean(text).partition(clean(quote)) if quote else (clean(text), "", "")
    if not quoted:
        return marked(text, [quote])
    return Markup("{}<mark>{}</mark>{}").format(before, marked(quoted, answers, BOLD), after)


def _pairs(draft: Draft, tried: DistractorEval) -> list[tuple[RolloutTrace, RolloutTrace]]:
    """The same samples of the solver without and with the distractors."""
    without = attempts(tried.without_distractors, tried.without_distractors_verdicts, draft)
    among = attempts(tried.with_distractors, tried.with_distractors_verdicts, draft)
    return [
        (a, b._replace(met=encounters(draft, tried.used, b.rollout, correct=b.verdict.correct)))
        for a, b in zip(without, among, strict=True)
    ]


def _twins(draft: Draft, twin: Twin) -> list[tuple[ChangedPremise, tuple[RolloutTrace, ...]]]:
    return [(one, attempts(one.rollouts, one.verdicts, twin_draft(draft, one))) for one in twin.tries]


def _tries(
    measured: Sequence[PolicyMeasurement], draft: Draft | None
) -> list[tuple[PolicyMeasurement, tuple[RolloutTrace, ...]]]:
    return [(one, attempts(one.rollouts, one.verdicts, draft)) for one in measured]


def _single(ones: Sequence[TeacherRollout] | Sequence[Branch], draft: Draft | None) -> tuple[RolloutTrace, ...]:
    return attempts([one.rollout for one in ones], [one.verdict for one in ones], draft)
