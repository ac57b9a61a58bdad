"""Views written as plain text."""

import orjson
import pyarrow.parquet as pq

from pipeline.config import RunConfig
from pipeline.exports.data_set import Selection, export, read_manifest
from tests.exports.test_data_set import load_view
from tests.fork_records import branched
from tests.records import batch
from tests.teacher_rollouts import taught

CHOSEN = Selection(config=RunConfig(), include=("below_target",))


def test_plain_writes_text_instead_of_arrows_json_type(tmp_path):
    export([*batch(8), branched(200), taught(202)], tmp_path / "ds", CHOSEN.model_copy(update={"plain": True}))
    shards = sorted((tmp_path / "ds").rglob("*.parquet"))
    assert len({shard.parent for shard in shards}) > 10
    for shard in shards:
        schema = pq.read_schema(shard)
        assert "json" not in str(schema), shard
    row = load_view(tmp_path / "ds", "sft")["train"][0]
    assert {type(row["messages"][0]), type(row["tools"])} == {str}
    assert orjson.loads(row["messages"][0])["role"] == "system"
    manifest = read_manifest(tmp_path / "ds")
    assert all(view.plain for view in manifest.views.values())
    usual = export(batch(8), tmp_path / "usual", CHOSEN)
    assert not any(view.plain for view in usual.views.values())
    assert "as plain text in" in (tmp_path / "ds/README.md").read_text()


def test_plain_views_can_be_mixed_with_others(tmp_path):
    originals = batch(8)
    export(originals, tmp_path, CHOSEN)
    export(originals, tmp_path, CHOSEN.model_copy(update={"plain": True, "views": ("sft",)}))
    assert {name for name, view in read_manifest(tmp_path).views.items() if view.plain} == {"sft"}
    typed = {shard.parent.name for shard in tmp_path.rglob("train-*.parquet") if "json" in str(pq.read_schema(shard))}
    assert "sft" not in typed
    assert "dpo" in typed
