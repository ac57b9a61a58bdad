"""`export` of some views replaces those and keeps the others, if they are as they were exported."""

import datasets
import pytest
import yaml

from pipeline.config import RunConfig
from pipeline.errors import UsageError
from pipeline.exports.data_set import Selection, export
from tests.records import batch
from tests.run_files import read_files

CHOSEN = Selection(config=RunConfig())


def select(views, **fields):
    return Selection(config=RunConfig(), views=views, **fields)


def test_named_views_are_replaced_and_the_others_stay(tmp_path):
    original = export(batch(16), tmp_path / "ds", CHOSEN)
    before = read_files(tmp_path / "ds")
    manifest = export(batch(16), tmp_path / "ds", select(("sft", "dpo")))
    assert (manifest, read_files(tmp_path / "ds")) == (original, before)
    grown = export(batch(32), tmp_path / "ds", select(("sft", "dpo")))
    after = read_files(tmp_path / "ds")
    written = {shard.path for shard in grown.shards if shard.view in ("sft", "dpo")}
    changed = {name for name in after if before.get(name) != after[name]}
    assert changed == {"README.md", "manifest.json", "seeds.parquet", *written}
    assert {shard for shard in grown.shards if shard.view == "qa"} < set(original.shards)
    assert set(grown.views) == set(original.views)
    assert {shard.path for shard in grown.shards} == {name for name in after if name.endswith("of-00001.parquet")}
    card = yaml.safe_load(after["README.md"].decode().split("\n---\n")[0].removeprefix("---\n"))
    assert {config["config_name"] for config in card["configs"]} == set(grown.rows())
    loaded = datasets.load_dataset(str(tmp_path / "ds"), "qa", cache_dir=str(tmp_path / "cache"))
    assert {split: len(rows) for split, rows in loaded.items()} == grown.rows()["qa"]


def test_views_of_another_state_of_the_run_are_named_on_the_card(tmp_path):
    def read_card():
        return " ".join((tmp_path / "ds" / "README.md").read_text().split())

    export(batch(16), tmp_path / "ds", select(("qa", "sft", "kto")))
    export(batch(16), tmp_path / "ds", select(("sft",), include=("below_target",)))
    assert "from another state" not in read_card()
    assert "`--include below_target` added rows to `sft`." in read_card()
    export(batch(32), tmp_path / "ds", select(("kto",)))
    assert "`qa`, `sft`: written from another state of the run" in read_card()
    assert "`--include below_target` added rows to `sft`." in read_card()


def test_a_view_that_is_kept_must_be_as_it_was_exported(tmp_path):
    export(batch(8), tmp_path / "ds", CHOSEN)
    (shard,) = (tmp_path / "ds" / "qa").glob("train-*")
    shard.write_bytes(shard.read_bytes() + b"x")
    before = read_files(tmp_path / "ds")
    with pytest.raises(UsageError, match="not as it was exported"):
        export(batch(8), tmp_path / "ds", select(("sft",)))
    (tmp_path / "ds" / "manifest.json").write_text("{}")
    with pytest.raises(UsageError, match="no finished data set of this version"):
        export(batch(8), tmp_path / "ds", select(("sft",)))
    assert set(read_files(tmp_path / "ds")) == set(before)
    export(batch(8), tmp_path / "ds", CHOSEN)
    export(batch(8), tmp_path / "ds", select(("sft",)))


def test_a_view_that_may_no_longer_be_redistributed_is_removed(tmp_path):
    export(batch(8), tmp_path / "ds", CHOSEN)
    manifest = export(batch(8), tmp_path / "ds", select(("qa",), redistribute="spans"))
    assert "qa" in manifest.views
    assert not {"sft", "records"} & (set(manifest.views) | {path.name for path in (tmp_path / "ds").iterdir()})


def test_a_kill_between_two_renames_loses_no_view(tmp_path):
    original = export(batch(8), tmp_path / "ds", CHOSEN)
    (tmp_path / "ds").rename(tmp_path / "ds.old")
    assert export(batch(8), tmp_path / "ds", select(("sft",))) == original
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("ds")] == ["ds"]


@pytest.mark.parametrize("redistribute", ["full", "spans", "ids", "unknown"])
def test_views_that_may_not_be_redistributed_are_left_out(tmp_path, redistribute):
    chosen = CHOSEN.model_copy(update={"redistribute": redistribute})
    written = set(export(batch(8), tmp_path / "ds", chosen).rows())
    assert {"rl_trl", "planner"} <= written
    assert ("qa" in written) == (redistribute != "ids")
    assert ({"records", "sft", "dpo"} & written == set()) == (redistribute in ("spans", "ids"))
    card = (tmp_path / "ds" / "README.md").read_text()
    assert any(hop.quote in card for record in batch(8) if record.draft for hop in record.draft.hops) == (
        redistribute != "ids"
    )
    if redistribute == "spans":
        assert "as quotes only" in card
        with pytest.raises(UsageError, match="'sft' holds more"):
            export(batch(8), tmp_path / "ds", chosen.model_copy(update={"views": ("qa", "sft")}))
