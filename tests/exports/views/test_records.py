import pyarrow as pa

from pipeline.agents.environment_file import environment
from pipeline.analysis.rollout_metrics import RolloutMetrics
from pipeline.config import RunConfig
from pipeline.exports.views import records
from pipeline.types import Record
from pipeline.types.model_probe import PriorKnowledge
from tests.answer_types import decided, listed
from tests.records import accepted, batch, hostile, rejected
from tests.teacher_rollouts import taught

ENVIRONMENT = environment(RunConfig())


def test_every_record_survives_arrow_unchanged():
    with_distractors = taught(2)
    agreed = accepted(1).model_copy(update={"agreed_answer": "75 %"})
    prior = (PriorKnowledge(model="m", tries=3, right=1),)
    recalled = rejected().model_copy(update={"known_to": prior})
    originals = [*batch(), hostile(), with_distractors, taught(), agreed, recalled, decided(1), listed(2)]
    rows = [row for record in originals for row in records.rows(record, ENVIRONMENT)]
    table = pa.Table.from_pylist(rows, schema=records.SCHEMA)
    assert [records.record(row) for row in table.to_pylist()] == originals


def test_process_figures_are_next_to_the_measured_rollouts():
    (row,) = records.rows(accepted(1), ENVIRONMENT)
    assert [fields["sample"] for fields in row["process"]] == [r.sample for r in accepted(1).confirmation]
    assert [fields["failure"] for fields in row["process"]] == [None, None, "missed_evidence", None]


def test_the_schema_names_every_field_of_a_record():
    assert set(records.SCHEMA.names) == {*Record.model_fields, "process", "trainable"}
    assert {field.name for field in records.SCHEMA.field("process").type.value_type} == set(RolloutMetrics.model_fields)
    verdict = records.SCHEMA.field("confirmation_verdicts").type.value_type
    kinds = {name: str(verdict.field(name).type) for name in ("method", "right", "hit_step", "found_at")}
    assert kinds == {"method": "string", "right": "bool", "hit_step": "int64", "found_at": "list<item: int64>"}
