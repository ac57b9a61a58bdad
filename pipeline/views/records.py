"""`records`: everything, nested; the source that any other view can be made from again.

Consumer: our own tools and anyone's analysis. A row is the JSON of a `types.Record`, with how the rollouts went that
its difficulty rests on (`process`), and whether it may be trained on; `record` turns a row back into the very record.
"""

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from pipeline.agents.environment import Environment
from pipeline.process import measured, process
from pipeline.types import Record
from pipeline.views.base import trainable

STRING, FLAG, COUNT = pa.string(), pa.bool_(), pa.int64()
STRINGS, COUNTS = pa.list_(STRING), pa.list_(COUNT)


def _struct(**fields: pa.DataType) -> pa.StructType:
    return pa.struct(list(fields.items()))


PASSAGE = _struct(id=STRING, document_id=STRING, title=STRING, text=STRING, start=COUNT, end=COUNT)
SEED = _struct(key=STRING, passage=PASSAGE, draw=COUNT, side=STRING, answer_type=STRING, target_steps=COUNT)
HOP = _struct(
    sub_question=STRING,
    answer=STRING,
    passage_id=STRING,
    title=STRING,
    quote=STRING,
    passage_sha256=STRING,
    relation=STRING,
)
NEGATIVE = _struct(dimension=STRING, misleading_claim=STRING, disambiguation=STRING, distraction_text=STRING)
DRAFT = _struct(
    question=STRING,
    answer=STRING,
    answer_aliases=STRINGS,
    answer_type=STRING,
    answer_precision=STRING,
    hops=pa.list_(HOP),
    family=STRING,
    negative_aspect=pa.list_(NEGATIVE),
)
TOOL_CALL = _struct(id=STRING, name=STRING, arguments=STRING)
MESSAGE = _struct(
    role=STRING, content=STRING, reasoning=STRING, tool_calls=pa.list_(TOOL_CALL), tool_call_id=STRING, name=STRING
)
CALL = _struct(id=STRING, tool=STRING, argument=STRING, passage_ids=STRINGS, repeat=FLAG)
USAGE = _struct(calls=COUNT, prompt_tokens=COUNT, completion_tokens=COUNT, cached_tokens=COUNT, reasoning_tokens=COUNT)
TRAJECTORY = _struct(
    messages=pa.list_(MESSAGE),
    calls=pa.list_(CALL),
    stop=STRING,
    final=STRING,
    format_errors=COUNT,
    usage=USAGE,
)
VERDICT = _struct(
    sample=COUNT,
    right=FLAG,
    supported=FLAG,
    method=STRING,
    steps=COUNT,
    calls=COUNT,
    hit_step=COUNT,
    found_at=COUNTS,
    usage=USAGE,
    second=USAGE,
)
ROLLOUT = _struct(sample=COUNT, trajectory=TRAJECTORY, answer=STRING)
FINDING = _struct(check=STRING, cause=STRING, fatal=FLAG, hops=COUNTS, detail=STRING)
PROBE = _struct(
    check=STRING,
    model=STRING,
    answers=STRINGS,
    right=COUNT,
    hops=COUNTS,
    usage=USAGE,
    judged=USAGE,
    second=USAGE,
)
FEEDBACK = _struct(label=STRING, cause=STRING, message=STRING, hops=COUNTS)
NODE = _struct(parent=COUNT, tool=STRING, argument=STRING, intent=STRING, passage_ids=STRINGS, reached=STRINGS)
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
ENCOUNTER = _struct(distractor=STRING, step=COUNT, cited_at=COUNT, disproved_at=COUNT, outcome=STRING)
LESSON = _struct(rollout=ROLLOUT, verdict=VERDICT, f1=pa.float64(), encounters=pa.list_(ENCOUNTER), kept=FLAG)
CHECK = _struct(name=STRING, passed=FLAG, detail=STRING)
DISTRACTOR = _struct(
    kind=STRING,
    title=STRING,
    text=STRING,
    hop=COUNT,
    source_id=STRING,
    source_sha256=STRING,
    claim=STRING,
    mark=STRING,
    checks=pa.list_(CHECK),
)
OPPOSITION = _struct(
    distractors=pa.list_(DISTRACTOR),
    unwritten=STRINGS,
    plain=pa.list_(ROLLOUT),
    plain_verdicts=pa.list_(VERDICT),
    opposed=pa.list_(ROLLOUT),
    opposed_verdicts=pa.list_(VERDICT),
    writer=USAGE,
    reader=USAGE,
    judge=USAGE,
    second=USAGE,
)
LINEAGE = _struct(
    run=STRING,
    preset=STRING,
    strategy=STRING,
    model=STRING,
    solver_digest=STRING,
    corpus=STRING,
    corpus_fingerprint=STRING,
    licence=STRING,
    attribution=STRING,
    retriever=STRING,
)
BRANCH = _struct(rollout=ROLLOUT, verdict=VERDICT)
ASSESSMENT = _struct(
    solver=STRING, retriever=STRING, k=COUNT, rollouts=COUNT, solve_rate=pa.float64(), least_steps=COUNT
)
FORK = _struct(
    key=STRING, method=STRING, source=COUNT, prefix=COUNT, branches=pa.list_(BRANCH), controls=pa.list_(BRANCH)
)
PROCESS = _struct(
    sample=COUNT,
    hit_step=COUNT,
    found_at=COUNTS,
    steps=COUNT,
    useful_steps=COUNT,
    hit_rate=pa.float64(),
    deviation=COUNT,
    efficiency=pa.float64(),
    failure=STRING,
    taxonomy=STRING,
)
SCHEMA = pa.schema(
    _struct(
        key=STRING,
        seed=SEED,
        status=STRING,
        reason=STRING,
        rounds=pa.list_(ROUND),
        confirmation=pa.list_(ROLLOUT),
        confirmation_verdicts=pa.list_(VERDICT),
        lessons=pa.list_(LESSON),
        opposition=OPPOSITION,
        lineage=LINEAGE,
        assessments=pa.list_(ASSESSMENT),
        forks=pa.list_(FORK),
        process=pa.list_(PROCESS),
        trainable=FLAG,
    )
)


def rows(record: Record, environment: Environment) -> Iterator[dict[str, Any]]:
    went = [process(*one).model_dump(mode="json") for one in measured(record)]
    yield {**record.model_dump(mode="json"), "process": went, "trainable": trainable(record)}


def record(row: dict[str, Any]) -> Record:
    """The inverse of `rows`."""
    return Record.model_validate({name: row[name] for name in Record.model_fields})
