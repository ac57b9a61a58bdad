"""`records`: everything, nested; the source that any other view can be made from again.

Consumer: our own tools and anyone's analysis. A row is the JSON of a `types.Record`, with how the rollouts went that
its difficulty rests on (`process`), and whether it may be trained on; `record` turns a row back into the very record.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pipeline.agents.environment import Environment
from pipeline.process import processes
from pipeline.types import Record
from pipeline.views.base import trainable

TEXT, FLAG, COUNT = pa.string(), pa.bool_(), pa.int64()
TEXTS, COUNTS = pa.list_(TEXT), pa.list_(COUNT)


def _struct(**fields: pa.DataType) -> pa.StructType:
    return pa.struct(list(fields.items()))


PASSAGE = _struct(id=TEXT, document_id=TEXT, title=TEXT, text=TEXT, start=COUNT, end=COUNT)
SEED = _struct(key=TEXT, passage=PASSAGE, draw=COUNT, side=TEXT, answer_type=TEXT, target_steps=COUNT)
HOP = _struct(
    sub_question=TEXT, answer=TEXT, passage_id=TEXT, title=TEXT, quote=TEXT, passage_sha256=TEXT, relation=TEXT
)
NEGATIVE = _struct(dimension=TEXT, misleading_claim=TEXT, disambiguation=TEXT, distraction_text=TEXT)
DRAFT = _struct(
    question=TEXT,
    answer=TEXT,
    answer_aliases=TEXTS,
    answer_type=TEXT,
    answer_precision=TEXT,
    hops=pa.list_(HOP),
    family=TEXT,
    negative_aspect=pa.list_(NEGATIVE),
)
TOOL_CALL = _struct(id=TEXT, name=TEXT, arguments=TEXT)
MESSAGE = _struct(role=TEXT, content=TEXT, reasoning=TEXT, tool_calls=pa.list_(TOOL_CALL), tool_call_id=TEXT, name=TEXT)
CALL = _struct(id=TEXT, tool=TEXT, argument=TEXT, passage_ids=TEXTS, repeat=FLAG)
USAGE = _struct(calls=COUNT, prompt_tokens=COUNT, completion_tokens=COUNT, cached_tokens=COUNT, reasoning_tokens=COUNT)
TRAJECTORY = _struct(
    messages=pa.list_(MESSAGE),
    calls=pa.list_(CALL),
    stop=TEXT,
    final=TEXT,
    format_errors=COUNT,
    usage=USAGE,
)
VERDICT = _struct(
    sample=COUNT,
    right=FLAG,
    supported=FLAG,
    method=TEXT,
    steps=COUNT,
    calls=COUNT,
    hit_step=COUNT,
    usage=USAGE,
)
ROLLOUT = _struct(sample=COUNT, trajectory=TRAJECTORY, answer=TEXT)
FINDING = _struct(check=TEXT, cause=TEXT, fatal=FLAG, hops=COUNTS, detail=TEXT)
PROBE = _struct(check=TEXT, model=TEXT, answers=TEXTS, right=COUNT, hops=COUNTS, usage=USAGE, judged=USAGE)
FEEDBACK = _struct(label=TEXT, cause=TEXT, message=TEXT, hops=COUNTS)
NODE = _struct(parent=COUNT, tool=TEXT, argument=TEXT, intent=TEXT, passage_ids=TEXTS, reached=TEXTS)
TREE = _struct(nodes=pa.list_(NODE), paths=COUNTS, composed=COUNT, refused=COUNT, usage=USAGE)
ROUND = _struct(
    index=COUNT,
    agent=TRAJECTORY,
    draft=DRAFT,
    tree=TREE,
    findings=pa.list_(FINDING),
    probes=pa.list_(PROBE),
    rollouts=pa.list_(ROLLOUT),
    verdicts=pa.list_(VERDICT),
    decided=COUNT,
    control=FLAG,
    feedback=FEEDBACK,
)
ENCOUNTER = _struct(distractor=TEXT, step=COUNT, cited_at=COUNT, disproved_at=COUNT, outcome=TEXT)
LESSON = _struct(rollout=ROLLOUT, verdict=VERDICT, f1=pa.float64(), encounters=pa.list_(ENCOUNTER), kept=FLAG)
LINEAGE = _struct(
    run=TEXT,
    preset=TEXT,
    strategy=TEXT,
    model=TEXT,
    solver_digest=TEXT,
    corpus=TEXT,
    corpus_fingerprint=TEXT,
    licence=TEXT,
    attribution=TEXT,
    retriever=TEXT,
)
BRANCH = _struct(rollout=ROLLOUT, verdict=VERDICT)
ASSESSMENT = _struct(solver=TEXT, retriever=TEXT, k=COUNT, rollouts=COUNT, solve_rate=pa.float64(), least_steps=COUNT)
FORK = _struct(key=TEXT, method=TEXT, source=COUNT, prefix=COUNT, branches=pa.list_(BRANCH), controls=pa.list_(BRANCH))
PROCESS = _struct(
    sample=COUNT,
    hit_step=COUNT,
    found_at=COUNTS,
    steps=COUNT,
    useful_steps=COUNT,
    hit_rate=pa.float64(),
    deviation=COUNT,
    efficiency=pa.float64(),
    failure=TEXT,
    taxonomy=TEXT,
)
SCHEMA = pa.schema(
    _struct(
        key=TEXT,
        seed=SEED,
        status=TEXT,
        reason=TEXT,
        rounds=pa.list_(ROUND),
        confirmation=pa.list_(ROLLOUT),
        confirmation_verdicts=pa.list_(VERDICT),
        lessons=pa.list_(LESSON),
        lineage=LINEAGE,
        assessments=pa.list_(ASSESSMENT),
        forks=pa.list_(FORK),
        process=pa.list_(PROCESS),
        trainable=FLAG,
    )
)


def rows(record: Record, environment: Environment) -> Iterator[dict[str, Any]]:
    went = [fields.model_dump(mode="json") for fields in processes(record)]
    yield {**record.model_dump(mode="json"), "process": went, "trainable": trainable(record)}


def record(row: dict[str, Any]) -> Record:
    """The inverse of `rows`."""
    return Record.model_validate({name: row[name] for name in Record.model_fields})
