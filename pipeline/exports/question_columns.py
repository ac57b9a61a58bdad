"""Columns about a question besides its text: how its answer is computed, who solves it, and with which search."""

from typing import Any

from pipeline.agents.answers import answer_interval, guess_chance
from pipeline.agents.environment_file import Environment
from pipeline.types import Record
from pipeline.types.model_probe import PriorKnowledge

COLUMNS: dict[str, Any] = {
    "operation": str,
    "chance": float,
    "answer_low": float,
    "answer_high": float,
    "solver_solve_rate": float,
    "policy_solve_rate": float,
    "policy_tries": int,
    "known_to": [PriorKnowledge],
    "evidence_ids": [str],
    "retriever": str,
    "k": int,
    "measured_by": str,
}


def question_columns(record: Record, environment: Environment) -> dict[str, Any]:
    draft = record.draft
    assert draft  # noqa: S101 - views skip records without one
    low, high = answer_interval(draft) or (None, None)
    policy = record.find_assessment(environment.policy) if environment.policy else None
    return {
        "operation": draft.graph.operation,
        "chance": guess_chance(draft),
        "answer_low": None if low is None else float(low),
        "answer_high": None if high is None else float(high),
        "solver_solve_rate": _solver_solve_rate(record),
        "policy_solve_rate": policy.solve_rate if policy else None,
        "policy_tries": policy.rollouts if policy else None,
        "known_to": [model.model_dump() for model in record.known_to],
        "evidence_ids": list(dict.fromkeys(hop.passage_id for hop in draft.hops)),
        "retriever": record.lineage.retriever,
        "k": environment.k,
        "measured_by": _measured_by(record),
    }


def _solver_solve_rate(record: Record) -> float | None:
    # The run's own solver never solved a question that another model opened.
    return record.assessments[0].solve_rate if record.opener and record.assessments else record.solve_rate


def _measured_by(record: Record) -> str | None:
    if record.opener:
        return record.opener.assessment.model
    return record.assessments[0].model if record.assessments else None
