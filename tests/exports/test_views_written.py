"""`export` of some views: those are replaced, and the others stay as they are, if they are as they were exported."""

import datasets
import pytest
import yaml

from pipeline.config import RunConfig
from pipeline.errors import UsageError
from pipeline.exports.data_set import Selection, export
from tests.left import files
from tests.records import batch

CHOSEN = Selection(config=RunConfig())


def some(views, **more):
    return Selection(config=RunConfig(), views=views, **more)


def test_named_views_are_replaced_and_the_others_stay(tmp_path):
    whole = export(batch(16), tmp_path / "ds", CHOSEN)
    before = files(tmp_path / "ds")
    manifest = export(batch(16), tmp_path / "ds", some(("sft", "dpo")))
    assert (manifest, files(tmp_path / "ds")) == (whole, before)
    grown = export(batch(32), tmp_path / "ds", some(("sft", "dpo")))
    after = files(tmp_path / "ds")
    assert {name for name in after if before.get(name) != after[name]} == {
        "README.md",
        "manifest.json",
        "seeds.parquet",
        *(shard.path for shard in grown.shards if shard.view in ("sft", "dpo")),
    }  # fmt: skip
    assert {shard for shard in grown.shards if shard.view == "qa"} < set(whole.shards)
    assert set(grown.views) == set(whole.views)
    assert {shard.path for shard in grown.shards} == {name for name in after if name.endswith("of-00001.parquet")}
    card = yaml.safe_load(after["README.md"].decode().split("\n---\n")[0].removeprefix("---\n"))
    assert {config["config_name"] for config in card["configs"]} == set(grown.rows())
    loaded = datasets.load_dataset(str(tmp_path / "ds"), "qa", cache_dir=str(tmp_path / "cache"))
    assert {split: len(rows) for split, rows in loaded.items()} == grown.rows()["qa"]


def test_views_of_another_state_of_the_run_are_named_on_the_card(tmp_path):
    def told():
        return " ".join((tmp_path / "ds" / "README.md").read_text().split())

    export(batch(16), tmp_path / "ds", some(("qa", "sft", "kto")))
    export(batch(16), tmp_path / "ds", some(("sft",), include=("below_target",)))
    assert "from another state" not in told()
    assert "`--include below_target` added rows to `sft`." in told()
    export(batch(32), tmp_path / "ds", some(("kto",)))
    assert "`qa`, `sft`: written from another state of the run" in told()
    assert "`--include below_target` added rows to `sft`." in told()


def test_a_view_that_stays_must_be_as_it_was_exported(tmp_path):
    export(batch(8), tmp_path / "ds", CHOSEN)
    (shard,) = (tmp_path / "ds" / "qa").glob("train-*")
    shard.write_bytes(shard.read_bytes() + b"x")
    before = files(tmp_path / "ds")
    with pytest.raises(UsageError, match="not as it was exported"):
        export(batch(8), tmp_path / "ds", some(("sft",)))
    (tmp_path / "ds" / "manifest.json").write_text("{}")
    with pytest.raises(UsageError, match="no finished data set of this version"):
        export(batch(8), tmp_path / "ds", some(("sft",)))
    assert set(files(tmp_path / "ds")) == set(before)
    export(batch(8), tmp_path / "ds", CHOSEN)
    export(batch(8), tmp_path / "ds", some(("sft",)))


def test_what_may_no_longer_be_passed_on_does_not_stay(tmp_path):
    export(batch(8), tmp_path / "ds", CHOSEN)
    manifest = export(batch(8), tmp_path / "ds", some(("qa",), redistribute="spans"))
    assert "qa" in manifest.views
    assert not {"sft", "records"} & (set(manifest.views) | {path.name for path in (tmp_path / "ds").iterdir()})


def test_a_kill_between_the_two_renames_loses_no_view_to_the_next_export(tmp_path):
    whole = export(batch(8), tmp_path / "ds", CHOSEN)
    (tmp_path / "ds").rename(tmp_path / "ds.old")
    assert export(batch(8), tmp_path / "ds", some(("sft",))) == whole
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith("ds")] == ["ds"]


@pytest.mark.parametrize("redistribute", ["full", "spans", "ids", "unknown"])
def test_views_that_hold_more_than_may_be_passed_on_are_left_out(tmp_path, redistribute):
    chosen = CHOSEN.model_copy(update={"redistribute": redistribute})
    made = set(export(batch(8), tmp_path / "ds", chosen).rows())
    assert {"rl_trl", "planner"} <= made
    assert ("qa" in made) == (redistribute != "ids")
    assert ({"records", "sft", "dpo"} & made == set()) == (redistribute in ("spans", "ids"))
    told = (tmp_path / "ds" / "README.md").read_text()
    assert any(hop.quote in told for one in batch(8) if one.draft for hop in one.draft.hops) == (redistribute != "ids")
    if redistribute == "spans":
        assert "as quotes only" in told
        with pytest.raises(UsageError, match="'sft' holds more"):
            export(batch(8), tmp_path / "ds", chosen.model_copy(update={"views": ("qa", "sft")}))
