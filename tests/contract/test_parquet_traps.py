"""No export has the traps that break other Parquet data sets, in any view and however shards are cut.

The traps were measured with the readers themselves; two tests trigger them on purpose.
"""

from functools import cache

import datasets
import orjson
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig
from pipeline.exports.data_set import Selection, export
from pipeline.exports.shards import ShardWriter
from pipeline.exports.views import base
from tests.exports.column_types import OF_EACH_TYPE
from tests.fork_records import branched
from tests.records import accepted, accepted_with_one_hop, below_target, hostile
from tests.teacher_rollouts import taught

RECORDS = [
    # The first has no aliases, no hit, and a rate that looks like an integer; later ones have what it lacks.
    below_target(0),
    *(accepted(n, side="eval" if n % 5 == 4 else "train") for n in range(1, 5)),
    *(branched(n) for n in (8, 9)),
    *(taught(n) for n in (12, 13)),
    accepted_with_one_hop(),
    hostile(),
]


@pytest.fixture(scope="module")
def shards(tmp_path_factory):
    """Write one row to each shard, so that any schema inferred from the first row fails on the next."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("pipeline.exports.shards.GROUP_ROWS", 1)
        patch.setattr("pipeline.exports.shards.FIRST_ROWS", 1)
        bare = RECORDS[0].rounds[-1]
        draft = bare.draft.model_copy(update={"answer_aliases": ()})
        first = RECORDS[0].model_copy(update={"rounds": (bare.model_copy(update={"draft": draft}),)})
        folder = tmp_path_factory.mktemp("traps") / "ds"
        chosen = Selection(config=RunConfig(), include=base.INCLUDES, shard_bytes=1)
        export([first, *RECORDS[1:]], folder, chosen)
    return folder


def list_shards(shards, view):
    paths = sorted((shards / view).glob("*.parquet"))
    assert len(paths) > 1
    return paths


@cache
def load_view(shards, view):
    return datasets.load_dataset(str(shards), view, cache_dir=str(shards.parent / "cache"))


def test_every_shard_has_rows_and_the_schema_of_its_view(shards):
    """So no all-null column, no struct with fewer keys and no integer before a float is left to guessing."""
    for view in base.names():
        for file in list_shards(shards, view):
            assert pq.read_metadata(file).num_rows
            assert pq.read_schema(file).equals(base.load(view).schema)


def test_an_empty_shard_would_break_the_whole_set(tmp_path):
    for name, rows in (("a", [{"x": "1"}]), ("b", [])):
        pq.write_table(pa.Table.from_pylist(rows, schema=pa.schema([("x", pa.string())])), tmp_path / f"{name}.parquet")
    with pytest.raises(datasets.exceptions.DatasetGenerationError):
        datasets.load_dataset("parquet", data_dir=str(tmp_path), cache_dir=str(tmp_path / "cache"))


@pytest.mark.parametrize("view", OF_EACH_TYPE)
def test_shards_that_infer_unlike_things_load_as_one(shards, view):
    loaded = load_view(shards, view)
    assert sum(split.num_rows for split in loaded.values()) == sum(
        pq.read_metadata(file).num_rows for file in list_shards(shards, view)
    )


def test_gold_answers_are_always_lists_of_text(shards):
    for view, reach in (("rl_search_r1", "golden_answers"), ("rl_trl", "golden_answers"), ("qa", "answer_aliases")):
        assert base.load(view).schema.field(reach).type == pa.list_(pa.string())
        assert all(
            isinstance(gold, str) for split in load_view(shards, view).values() for row in split for gold in row[reach]
        )


def test_no_struct_is_without_fields():
    """`{}` cannot be written and leaves a file of no bytes."""

    def walk(kind):
        if pa.types.is_struct(kind):
            assert kind.num_fields
            for field in kind:
                walk(field.type)
        elif pa.types.is_list(kind):
            walk(kind.value_type)

    for view in base.names():
        for field in base.load(view).schema:
            walk(field.type)


def test_a_write_that_fails_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.setattr(ShardWriter, "close", lambda self: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        export(RECORDS, tmp_path / "ds", Selection(config=RunConfig()))
    assert list(tmp_path.rglob("*.parquet")) == []


def read_messages(row):
    parts = [row[name] for name in ("messages", "prompt", "completion", "chosen", "rejected") if name in row]
    return [message for part in parts for message in part]


@pytest.mark.parametrize("view", OF_EACH_TYPE)
def test_no_missing_key_comes_back_as_none(shards, view):
    """Keys that a message or a call lacks do not come back as None, and arguments hold their own alone."""
    for split in load_view(shards, view).values():
        for message in (message for row in split for message in read_messages(row)):
            assert None not in message.values()
            for call in message.get("tool_calls", ()):
                assert list(call["function"]["arguments"]) in (["query"], ["passage_id"], ["answer"])


def test_pandas_reads_the_same_objects_as_text(shards):
    """`datasets` decodes these columns; `code/verl_sft.py` and others parse them."""
    for file in list_shards(shards, "sft"):
        split = file.name.split("-")[0]
        frame = pd.read_parquet(file)
        parsed = [[orjson.loads(message) for message in row] for row in frame["messages"]]
        expected = [row["messages"] for row in load_view(shards, "sft")[split]]
        assert all(conversation in expected for conversation in parsed)


def test_large_nested_rows_are_read_by_pandas(tmp_path):
    """Arrow cannot give a nested column in chunks, which large row groups make it do."""
    records = [hostile(n, text="x" * (1 << 18)) for n in range(6)]
    export(records, tmp_path / "ds", Selection(config=RunConfig(), views=("sft", "sft_sharegpt")))
    for view in ("sft", "sft_sharegpt"):
        for file in sorted((tmp_path / "ds" / view).glob("*.parquet")):
            assert len(pd.read_parquet(file)) == 6
            assert pq.read_metadata(file).num_row_groups > 1


MEGABYTE = pytest.param("y" * (1 << 20), id="a megabyte", marks=pytest.mark.slow)
ODD = ["1969", "a\u2028b nul\x00x", MEGABYTE]


@pytest.mark.parametrize("text", ODD)
def test_odd_answers_survive_every_view(tmp_path, text):
    record = replace_answer(accepted(3), text)
    selection = Selection(config=RunConfig())
    manifest = export([record], tmp_path / "ds", selection)
    # These need branches, teacher rollouts or distractors, which have their own answers.
    assert set(base.names()) - set(manifest.rows()) <= {"dpo_steps", "steps", "robust_pairs", "synthetic"}
    for view in manifest.rows().keys() & {*OF_EACH_TYPE, "dpo", "kto"}:
        module = base.load(view)
        rows = list(module.rows(record, environment(selection.config)))
        # A preference pair ends where the rollouts diverge, before their answers; retrieval rows have no answer.
        answerless = ("dpo", "steps", "retriever", "retriever_triplets", "reranker")
        assert view in answerless or orjson.dumps(text)[1:-1].split(b"\\")[-1] in orjson.dumps(rows)
        kinds = {field.name: field.type for field in module.schema}
        expected = [{name: decode(value, kinds[name]) for name, value in row.items()} for row in rows]
        assert list(load_view(tmp_path / "ds", view)["train"]) == expected
        for shard in (tmp_path / "ds" / view).glob("*.parquet"):
            assert len(pd.read_parquet(shard)) == len(rows)


def decode(value, kind):
    if isinstance(kind, pa.BaseExtensionType):
        return orjson.loads(value)
    return [decode(item, kind.value_type) for item in value] if value and pa.types.is_list(kind) else value


def replace_answer(record, text):
    """Copy a record with another answer, also in its correct rollouts."""
    tree = orjson.loads(record.model_dump_json().replace('"1222"', orjson.dumps(text).decode()))
    arguments = orjson.dumps({"answer": text}).decode()
    for rollouts in (tree["confirmation"], *(past["rollouts"] for past in tree["rounds"])):
        for rollout in rollouts:
            if rollout["answer"] == text:
                rollout["trajectory"]["final"] = arguments
                rollout["trajectory"]["messages"][-1]["tool_calls"][0]["arguments"] = arguments
    for past in tree["rounds"]:
        past["draft"]["answer_type"] = "entity"
    return type(record).model_validate(tree)
