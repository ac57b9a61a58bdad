import pyarrow as pa

from pipeline.agents.environment import environment
from pipeline.config import RunConfig
from pipeline.types import Record
from pipeline.views import records
from tests.records import batch, hostile

ENVIRONMENT = environment(RunConfig())


def test_every_record_comes_back_from_arrow_as_it_was():
    originals = [*batch(), hostile()]
    rows = [row for record in originals for row in records.rows(record, ENVIRONMENT)]
    table = pa.Table.from_pylist(rows, schema=records.SCHEMA)
    assert [records.record(row) for row in table.to_pylist()] == originals


def test_the_schema_names_every_field_of_a_record():
    assert set(records.SCHEMA.names) == {*Record.model_fields, "trainable"}
