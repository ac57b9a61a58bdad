"""Rows of `seeds.parquet`: one flat row for every seed of a run, accepted or not, in the order of the plan.

Report, data card, `digsite inspect` and Prefect's artifacts read it with polars. Full rollouts are read from the
journal by `key`. The bytes do not depend on which seed ended first, so the position of a journal line is no column.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from pipeline.agents.reasoning import reasoning
from pipeline.analysis.rollout_metrics import SearchFailure, hit_rate, search_failure
from pipeline.distractors.encounters import arms, encounters
from pipeline.gates import Drop
from pipeline.gates.personal import mask_text
from pipeline.store.arrow import columns
from pipeline.store.journal import Entry
from pipeline.types import (
    ROLES,
    Draft,
    Encounter,
    Label,
    Lineage,
    OneSearch,
    Outcome,
    Reason,
    ReasonCode,
    Record,
    Round,
    Status,
    correct,
)
from pipeline.types.rollout import Usage, least_steps
from pipeline.types.step_counts import StepCounts

_PERSONAL = str(Reason(ReasonCode.GATE, "personal"))
STAGES = ("drafted", "audited", "solved", "candidate", "confirmed", "accepted")
"""The stages that a seed can reach. A seed without a draft is only `planned`."""
COUNTS = Usage.__slots__
"""The counts of each role, in columns such as `solver_calls`."""
TELLING = (Outcome.MISLED, Outcome.RECOVERED, Outcome.RESISTED, Outcome.MET)
"""Outcomes by importance. A rollout that met several distractors of one kind has the first of these."""
_DISTRACTOR = {"kind": str, "rejected_by": str, "blind_readings": int, "blind_named": int}
_ROLLOUT = {
    "kind": str, "sample": int, "outcome": str, "correct_without": bool, "correct_with": bool, "steps_without": int,
    "steps_with": int,
}  # fmt: skip
_POLICY = {
    "policy": str, "model": str, "date": str, "rollouts": int, "correct": int, "least_steps": int, "solve_rate": float,
    "median_steps": float, "known": float, "known_tries": int, "not_retrieved": int, "misread": int,
    "stopped_early": int,
}  # fmt: skip
SCHEMA = columns(
    key=str, status=str, reason=str, gate=str, gate_detail=str, cause=str, stage=str,
    **{name: {"trainable": bool, "demo_solver": int}.get(name, str) for name in Lineage.__slots__},
    split=str, passage_id=str, draw=int, target_steps=int,
    answer_type=str, question=str, answer=str, operation=str, origin=str, reasoning=str,
    hops=int, hop_titles=[str], hop_passages=[str],
    difficulty=int, step_counts=StepCounts, keeps_number=bool, solve_rate=float,
    measured_rollouts=int, correct_rollouts=int,
    correct_steps=[int], hit_steps=[int], hops_seen=[float],
    prior_knowledge=bool, skippable_hops=[int], one_search=[OneSearch], naturalness=int,
    policies=[_POLICY],
    rounds=int, labels=[str], causes=[str], least_steps=[int],
    missing=[str], distractors=[_DISTRACTOR], distractor_rollouts=[_ROLLOUT],
    twin=str, twin_refusals=[str], twin_solve_rate=float,
    **{f"{role}_{count}": pa.int64() for role in ROLES for count in COUNTS},
    plan_order=str, journal_file=str,
)  # fmt: skip
"""`docs/reference/columns.md` explains the columns."""
Row = dict[str, Any]


def row(record: Record, entry: Entry | None = None, drop: Drop | None = None) -> Row:
    """Return the row of a record. `drop` names the gate that keeps it out of the data set, if any.

    Personal data is masked, since gates do not check rejected records.
    """
    causes = [past.feedback.cause if past.feedback else None for past in record.rounds]
    return {
        "key": record.key,
        "status": record.status,
        "reason": record.reason,
        "gate": drop and drop.gate,
        "gate_detail": drop and drop.why,
        "cause": next(filter(None, reversed(causes)), None),
        "stage": _stage(record),
        **{name: getattr(record.lineage, name) for name in Lineage.__slots__},
        "split": record.seed.side,
        "passage_id": record.seed.passage.id,
        "draw": record.seed.draw,
        "target_steps": record.seed.target_steps,
        **_question(record.draft if _PERSONAL not in (record.reason, drop and drop.reason) else None),
        **_measured_columns(record),
        "rounds": len(record.rounds),
        "labels": [_label_draft(past, record) for past in record.rounds],
        "causes": causes,
        "least_steps": [least_steps(correct(past.verdicts)) if past.draft else None for past in record.rounds],
        "missing": list(record.missing),
        "distractors": list(_distractors(record)),
        "distractor_rollouts": list(_distractor_rollouts(record)),
        **_twin(record),
        **{f"{role}_{name}": getattr(used, name) for role, used in record.usage.items() for name in COUNTS},
        "plan_order": entry and entry.head.order,
        "journal_file": entry and entry.path.name,
    }


def _stage(record: Record) -> str:
    drafts = [past for past in record.rounds if past.draft]
    sound = [past for past in drafts if not past.unsound]
    reached = (
        bool(drafts),
        bool(sound),
        any(correct((*past.verdicts, *past.policy_verdicts)) for past in sound),
        record.confirmed or any(past.feedback is None for past in drafts),
        record.confirmed,
        record.status is Status.ACCEPTED,
    )
    stages = zip(reversed(STAGES), reversed(reached), strict=True)
    return next((stage for stage, is_reached in stages if is_reached), "planned")


def _question(draft: Draft | None) -> Row:
    if draft is None:
        return {}
    return {
        "question": mask_text(draft.question),
        "answer": mask_text(draft.answer),
        "answer_type": draft.answer_type,
        "operation": draft.graph.operation,
        "origin": draft.origin,
        "reasoning": reasoning(draft),
        "hops": len(draft.hops),
        "hop_titles": [mask_text(hop.title) for hop in draft.hops],
        "hop_passages": [hop.passage_id for hop in draft.hops],
    }


def _measured_columns(record: Record) -> Row:
    (difficulty, solve_rate), right = record.hardness, correct(record.measured)
    closed = [probe.right > 0 for probe in record.last.probes if probe.check == "closed_book"] if record.last else []
    return {
        "difficulty": difficulty,
        "step_counts": record.step_counts.model_dump(),
        "keeps_number": record.keeps_number,
        "solve_rate": solve_rate,
        "measured_rollouts": len(record.measured),
        "correct_rollouts": len(right),
        "correct_steps": [verdict.steps for verdict in right],
        "hit_steps": [verdict.hit_step for verdict in right],
        "hops_seen": [hit_rate(verdict.found_at) for verdict in right],
        "prior_knowledge": any(closed) if closed else None,
        "skippable_hops": list(record.skippable_hops),
        "one_search": [search.model_dump() for search in record.one_search],
        "naturalness": record.naturalness,
        "policies": list(_policies(record)),
    }


def _policies(record: Record) -> Iterator[Row]:
    latest = {measured.policy: measured for measured in record.measurements if measured.policy}
    for _, measured in sorted(latest.items()):
        assessment = measured.assessment
        columns = {name: getattr(assessment, name) for name in _POLICY if hasattr(assessment, name)}
        needed = record.difficulty or record.seed.target_steps
        failures = Counter(search_failure(rollout, verdict, needed) for rollout, verdict in measured.graded)
        counts = {kind.value: failures[kind] for kind in SearchFailure}
        yield {**columns, "correct": len(correct(measured.verdicts)), **counts}


def _label_draft(past: Round, record: Record) -> str:
    """Return `none` for a round without a draft, `accepted` even if a gate dropped the pair later, or a label.

    A `candidate` seemed hard enough at its first correct rollout, but its measurement rejected it.
    """
    if past.draft is None:
        return "none"
    # Preset sage relaxes its last round, so a draft may be accepted although its label is too easy.
    if past is record.rounds[-1] and record.confirmed:
        return "accepted"
    return past.feedback.label if past.feedback else Label.CANDIDATE


def _distractors(record: Record) -> Iterator[Row]:
    if record.distractor_eval and record.status is Status.ACCEPTED:
        for distractor in record.distractor_eval.distractors:
            blind = {"blind_readings": len(distractor.blind), "blind_named": sum(distractor.blind)}
            yield {"kind": distractor.kind, "rejected_by": distractor.reason, **blind}
        for kind in record.distractor_eval.unwritten:
            yield {"kind": kind, "rejected_by": "unwritten", "blind_readings": 0, "blind_named": 0}


def _distractor_rollouts(record: Record) -> Iterator[Row]:
    """Yield the paired rollouts, without and with all distractors, once for each kind that was used.

    The kind of a policy's rollouts begins with its name.
    """
    evaluation = record.distractor_eval if record.status is Status.ACCEPTED else None
    if evaluation is None:
        return
    for policy, arm in arms(record).items():
        for kind in dict.fromkeys(distractor.kind for distractor in evaluation.used):
            by_rollout = encounters_of_kind(record, kind, policy)
            for in_rollout, (without, rollout, with_distractors) in zip(by_rollout, arm.pairs, strict=True):
                yield {
                    "kind": f"{policy}/{kind}" if policy else kind,
                    "sample": rollout.sample,
                    "outcome": min((encounter.outcome for encounter in in_rollout), key=TELLING.index, default=None),
                    "correct_without": without.correct,
                    "correct_with": with_distractors.correct,
                    "steps_without": without.steps,
                    "steps_with": with_distractors.steps,
                }


def encounters_of_kind(record: Record, kind: str, policy: str = "") -> Iterator[Sequence[Encounter]]:
    """Yield, for each rollout with distractors, its encounters with the distractors of one kind.

    The rollouts are those of `policy`, or those of the solver if `policy` is empty. A record without a draft or without
    a measurement of distractors yields nothing.
    """
    draft, evaluation = record.draft, record.distractor_eval
    if draft and evaluation:
        distractors = [distractor for distractor in evaluation.used if distractor.kind == kind]
        for _, rollout, verdict in arms(record)[policy].pairs:
            yield encounters(draft, distractors, rollout, correct=verdict.correct)


def _twin(record: Record) -> Row:
    twin = record.twin if record.status is Status.ACCEPTED else None
    if twin is None:
        return {}
    used, refusals = twin.used, [attempt.outcome for attempt in twin.refused]
    return {
        "twin": used.state if used else "pending" if twin.pending else "refused",
        "twin_refusals": [*refusals, *["unwritten"] * twin.unwritten],
        "twin_solve_rate": len(correct(used.verdicts)) / len(used.verdicts) if used else None,
    }
