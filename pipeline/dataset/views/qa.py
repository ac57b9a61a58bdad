"""`qa`: one flat row per question with its evidence; for people, evaluation harnesses and one's own converter.

The columns are the product's own contract. Difficulty, solve rate and hit step are those of the confirmation: the
least of the rollouts that chose a question is biased, the least of fresh ones is not. `assessments` has them for every
solver that tried the question, the run's own first.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pipeline.agents.environment import Environment
from pipeline.dataset.views.base import trainable
from pipeline.types import Draft, Record, correct

HOP = pa.struct(
    [
        ("sub_question", pa.string()),
        ("answer", pa.string()),
        ("passage_id", pa.string()),
        ("title", pa.string()),
        ("quote", pa.string()),
    ]
)
ASSESSMENT = pa.struct(
    [
        ("solver", pa.string()),
        ("retriever", pa.string()),
        ("k", pa.int32()),
        ("rollouts", pa.int32()),
        ("solve_rate", pa.float64()),
        ("least_steps", pa.int32()),
    ]
)
HOLDS = "spans"
SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("question", pa.string()),
        ("answer", pa.string()),
        ("answer_aliases", pa.list_(pa.string())),
        ("answer_type", pa.string()),
        ("target_steps", pa.int32()),
        ("difficulty", pa.int32()),
        ("solve_rate", pa.float64()),
        ("hit_step", pa.int32()),
        ("rollouts", pa.int32()),
        ("assessments", pa.list_(ASSESSMENT)),
        ("rounds", pa.int32()),
        ("strategy", pa.string()),
        ("preset", pa.string()),
        ("model", pa.string()),
        ("hops", pa.list_(HOP)),
        ("family", pa.string()),
        ("corpus", pa.string()),
        ("corpus_fingerprint", pa.string()),
        ("licence", pa.string()),
        ("language", pa.string()),
        ("trainable", pa.bool_()),
        ("run", pa.string()),
    ]
)


def rows(record: Record, environment: Environment) -> Iterator[dict[str, Any]]:
    draft, lineage = record.draft, record.lineage
    if draft is None:
        return
    measured, (difficulty, solve_rate) = record.measured, record.hardness
    hits = [verdict.hit_step for verdict in correct(measured) if verdict.hit_step is not None]
    yield {
        "id": record.key,
        "question": draft.question,
        "answer": draft.answer,
        "answer_aliases": list(draft.answer_aliases),
        "answer_type": draft.answer_type.value,
        "target_steps": record.seed.target_steps,
        "difficulty": difficulty,
        "solve_rate": solve_rate,
        "hit_step": min(hits, default=None),
        "rollouts": len(measured),
        "assessments": [assessment.model_dump() for assessment in record.assessments],
        # Revisions, as the configuration counts them: 0 is the generator's own draft.
        "rounds": record.rounds[-1].index,
        "strategy": lineage.strategy,
        "preset": lineage.preset,
        "model": lineage.model,
        "hops": _hops(draft),
        "family": draft.family,
        "corpus": lineage.corpus,
        "corpus_fingerprint": lineage.corpus_fingerprint,
        "licence": lineage.licence,
        "language": lineage.language,
        "trainable": trainable(record),
        "run": lineage.run,
    }


def _hops(draft: Draft) -> list[dict[str, str]]:
    return [
        {
            "sub_question": hop.sub_question,
            "answer": hop.answer,
            "passage_id": hop.passage_id,
            "title": hop.title,
            "quote": hop.quote,
        }
        for hop in draft.hops
    ]
