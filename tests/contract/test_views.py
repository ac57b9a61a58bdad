"""Every view of the folder keeps its contract, for every kind of record and whatever the text is."""

import gc

import datasets
import orjson
import pyarrow as pa
import pytest

from pipeline import registry
from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig, build
from pipeline.exports.views import base
from pipeline.store.arrow import table
from tests.fork_records import branched
from tests.hostile_texts import HOSTILE
from tests.records import accepted, batch, below_target, hostile, measured_in_its_round
from tests.teacher_rollouts import taught

ENVIRONMENT = environment(RunConfig())
EXAMPLES = [*batch(), below_target(), measured_in_its_round(accepted(1)), hostile(), branched(), taught()]
RECORDS = [record for record in EXAMPLES if base.is_exported(record, base.INCLUDES)]


@pytest.fixture(params=base.names())
def view(request):
    return base.load(request.param)


def test_the_folder_holds_the_promised_views():
    promised = (
        "adp critic dpo dpo_steps eval_deepeval eval_ragas kto planner qa records reranker retriever "
        "retriever_triplets rl_openrlhf rl_search_r1 rl_trl rl_verifiers rl_verl_tool robust_pairs sft sft_masked "
        "sft_sharegpt steps"
    )
    assert set(base.names()) >= set(promised.split())


@pytest.mark.parametrize("name", base.names())
def test_docstring_names_its_consumer_and_source(name):
    text = registry.load("views", name).__doc__
    assert len(text) > 100
    assert f"`{name}`" in text


def test_rows_have_exactly_the_columns_of_the_schema(view):
    rows = [row for record in RECORDS for row in view.rows(record, ENVIRONMENT)]
    assert rows
    for row in rows:
        _same_shape(row, pa.struct(list(view.schema)))


def _same_shape(value, kind):
    """`from_pylist` drops what a schema does not name, so a lost key shows only in a comparison with the schema."""
    if value is None:
        return
    if pa.types.is_struct(kind):
        assert set(value) == {field.name for field in kind}
        for field in kind:
            _same_shape(value[field.name], field.type)
    elif pa.types.is_list(kind):
        for item in value:
            _same_shape(item, kind.value_type)


def test_rows_survive_arrow(view):
    rows = [row for record in RECORDS for row in view.rows(record, ENVIRONMENT)]
    assert table(rows, view.schema).to_pylist() == rows


def test_any_text_survives_a_view(view):
    for text in HOSTILE:
        rows = list(view.rows(hostile(text=text), ENVIRONMENT))
        assert table(rows, view.schema).to_pylist() == rows, repr(text[:80])


def test_no_row_leaves_a_cycle(view):
    """An export does without the collector, so that a cycle would stay in memory to its end."""
    gc.disable()
    gc.freeze()  # leaves all that the other tests hold out of every collection
    try:
        # Least of three: the first keeps what is made once, and threads of the test runner may leave something.
        assert min(_cycles(view) for _ in range(3)) == 0
    finally:
        gc.unfreeze()
        gc.enable()


def _cycles(view):
    gc.collect()
    for record in RECORDS:
        for _ in view.rows(record, ENVIRONMENT):
            pass
    return gc.collect()


def test_datasets_can_represent_the_schema(view):
    features = datasets.Features.from_arrow_schema(view.schema)
    assert set(features) == set(view.schema.names)


def test_rows_are_trainable_only_if_every_model_is(view):
    def flags(model, forbidden=False):
        records = [branched(1, model=model), taught(1, model=model)]
        records = [make_untrainable(record) for record in records] if forbidden else records
        rows = [row for record in records for row in view.rows(record, ENVIRONMENT)]
        assert rows
        # In a column of its own, or in that of the consumer that takes no further ones.
        return {orjson.loads(row.get("info") or row.get("details") or orjson.dumps(row))["trainable"] for row in rows}

    assert flags("embedded") == {False}
    assert flags("embedded + qwen") == {False}
    assert flags("qwen") == {True}
    assert flags("qwen", forbidden=True) == {False}


def make_untrainable(record):
    return record.model_copy(update={"lineage": record.lineage.model_copy(update={"trainable": False})})


@pytest.mark.parametrize("name", [name for name in base.names() if name.startswith("rl_")])
def test_a_reward_ships_with_the_shards_of_reinforcement_learning(name):
    assert "def score" in base.load(name).options.extra_files["reward.py"]


def test_a_view_states_how_much_of_the_corpus_it_holds(view):
    assert base.exceeds_licence(view, "full") is False
    assert isinstance(base.exceeds_licence(view, "ids"), bool)


def without_k(view, record, environment):
    """Make the rows of a record without the column that says how many passages a search gave."""
    return [{name: value for name, value in row.items() if name != "k"} for row in view.rows(record, environment)]


def test_only_rows_with_an_environment_depend_on_it(view):
    searches = {"searches": 4, "turns": 5}
    other_environment = environment(build(values={"solver": searches, "retrieval": {"k": 9}}))
    other_environment = other_environment.model_copy(
        update={"system": "Another prompt.", "reasoning": "keep", "teacher_reasoning": "keep"}
    )
    is_same = [without_k(view, record, ENVIRONMENT) == without_k(view, record, other_environment) for record in RECORDS]
    if not view.options.env_specific:
        assert all(is_same)


def test_rows_are_a_pure_function(view):
    assert list(view.rows(RECORDS[0], ENVIRONMENT)) == list(view.rows(RECORDS[0], ENVIRONMENT))
