"""Exports are a pure function of the journal, and every view of one loads through its card."""

import gc
import hashlib
import os
import random
import subprocess
import sys

import datasets
import orjson
import pandas as pd
import polars as pl
import pyarrow.parquet as pq
import pytest
import yaml

from pipeline.config import RunConfig, build
from pipeline.errors import UsageError
from pipeline.exports.data_set import Selection, export
from pipeline.exports.shards import ShardWriter
from pipeline.exports.views import base, records
from pipeline.store.journal import Journal
from pipeline.types import Record
from tests.exports.column_types import OF_EACH_TYPE
from tests.fork_records import branched
from tests.hostile_texts import HOSTILE
from tests.records import accepted, batch, hostile, no_draft, rejected
from tests.run_files import read_files
from tests.teacher_rollouts import taught

CHOSEN = Selection(config=RunConfig(), include=("below_target",))


def select(view, **fields):
    return CHOSEN.model_copy(update={"views": (view,), **fields})


@pytest.fixture(autouse=True)
def disable_network(monkeypatch, tmp_path):
    monkeypatch.setattr("datasets.config.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("datasets.config.HF_DATASETS_CACHE", tmp_path / "hf")
    datasets.disable_progress_bars()


def load_view(folder, view):
    return datasets.load_dataset(str(folder), view, cache_dir=str(folder.parent / "cache"))


def read_records(journal):
    return (journal.read(head.key) for head in journal.heads())


@pytest.fixture(scope="module")
def data_set(tmp_path_factory):
    """Export rows of every view on both sides; return the folder and its manifest."""
    originals = [*batch(32), hostile(), branched(200), branched(201, side="eval")]
    originals += [taught(202), taught(203, side="eval")]
    folder = tmp_path_factory.mktemp("whole") / "ds"
    return folder, export(originals, folder, CHOSEN)


def test_the_card_names_the_files_of_every_view(data_set):
    folder, manifest = data_set
    front = yaml.safe_load((folder / "README.md").read_text().split("\n---\n")[0].removeprefix("---\n"))
    files_by_view = {config["config_name"]: config["data_files"] for config in front["configs"]}
    assert files_by_view.keys() == set(base.names())
    for view, files_ in files_by_view.items():
        paths = {
            file["split"]: [str(path.relative_to(folder)) for path in folder.glob(file["path"])] for file in files_
        }
        assert list(paths) == ["train", "eval"]
        assert [*paths["eval"], *paths["train"]] == sorted(file.path for file in manifest.shards if file.view == view)


@pytest.mark.parametrize("view", OF_EACH_TYPE)
def test_every_view_loads_through_the_card(data_set, view):
    folder, manifest = data_set
    loaded = load_view(folder, view)
    assert list(loaded) == ["train", "eval"]
    assert {split: len(rows) for split, rows in loaded.items()} == manifest.rows()[view]
    assert loaded["train"].features.arrow_schema.names == base.load(view).schema.names


def test_loaded_records_are_the_records(tmp_path):
    originals = [*batch(16), *(hostile(text=text, n=6000 + i) for i, text in enumerate(HOSTILE))]
    export(originals, tmp_path / "ds", select("records"))
    rows = [row for split in load_view(tmp_path / "ds", "records").values() for row in split]
    expected = [r for r in originals if base.is_exported(r, CHOSEN.include)]
    assert sorted(map(repr, map(records.record, rows))) == sorted(map(repr, expected))


def test_strings_that_look_like_values_stay_strings(tmp_path):
    export([hostile()], tmp_path / "ds", select("qa"))
    (row,) = load_view(tmp_path / "ds", "qa")["train"]
    assert row["answer_aliases"][-4:-1] == ["1969", "true", "null"]


def test_qa_is_the_default_view(tmp_path):
    export(batch(8), tmp_path / "ds", CHOSEN)
    loaded = datasets.load_dataset(str(tmp_path / "ds"), cache_dir=str(tmp_path / "cache"))
    assert "hops" in loaded["train"].features
    assert "messages" not in loaded["train"].features


def test_a_trainer_s_cache_keeps_the_versions_of_a_data_set_apart(tmp_path):
    questions = []
    for version, pairs in enumerate((batch(8), batch(12)[4:])):
        folder = tmp_path / str(version) / "dataset"
        manifest = export(pairs, folder, select("qa"))
        loaded = datasets.load_dataset(str(folder), "qa", cache_dir=str(tmp_path / "cache"))
        questions.append({split: rows["question"][:] for split, rows in loaded.items()})
        assert sum(map(len, questions[-1].values())) == sum(manifest.rows()["qa"].values())
    assert questions[0] != questions[1]


def test_a_journal_gives_the_same_bytes_whatever_finished_first(tmp_path):
    originals = batch(24)
    exports = []
    for attempt in range(2):
        shuffled = random.Random(attempt).sample(originals, len(originals))
        home = tmp_path / str(attempt)
        writers = [Journal(home / "journal", "a"), Journal(home / "journal", "b")]
        for index, record in enumerate(shuffled):
            writers[index % 2].append(record, order=f"{record.seed.draw:06d}")
        export(read_records(Journal(home / "journal")), home / "ds", CHOSEN)
        exports.append(read_files(home / "ds"))
    assert exports[0] == exports[1]


@pytest.mark.slow
def test_another_hash_seed_gives_the_same_bytes(tmp_path):
    script = (
        "import sys; from pathlib import Path; from pipeline.config import RunConfig; from tests.records import batch\n"
        "from pipeline.exports.data_set import Selection, export\n"
        "export(batch(16), Path(sys.argv[1]), Selection(config=RunConfig(), include=('below_target',)))"
    )
    environ = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join(sys.path)}
    subprocess.run([sys.executable, "-c", script, str(tmp_path / "other")], env=environ, check=True)
    export(batch(16), tmp_path / "this", CHOSEN)
    assert read_files(tmp_path / "other") == read_files(tmp_path / "this")


def test_an_address_that_agents_have_read_is_in_no_file_unless_the_gate_is_off(tmp_path):
    address = "ada.brannick@fells.example.org"
    originals = [branched(200), taught(202), taught(203, side="eval")]
    originals = [
        Record.model_validate_json(record.model_dump_json().replace("clockmaker", f"clockmaker ({address})"))
        for record in originals
    ]
    assert any(address in record.model_dump_json() for record in originals)

    def find_folders(folder, config):
        export(originals, folder, CHOSEN.model_copy(update={"config": config}))
        tables = {path: str(pq.read_table(path).to_pylist()) for path in folder.rglob("*.parquet")}
        texts = {path: path.read_text() for path in folder.rglob("*") if path.suffix in (".md", ".json", ".jsonl")}
        return [path.relative_to(folder).parts[0] for path, text in (tables | texts).items() if address in text]

    assert find_folders(tmp_path / "public", RunConfig()) == []
    assert "sft" in find_folders(tmp_path / "whole", build(values={"gates": {"off": ["personal"]}}))


def test_small_shards_are_numbered_and_none_is_empty(tmp_path):
    manifest = export(batch(32), tmp_path / "ds", select("qa", shard_bytes=1))
    qa = [shard for shard in manifest.shards if shard.view == "qa"]
    assert all(shard.rows for shard in manifest.shards)
    assert {shard.path for shard in qa} <= set(read_files(tmp_path / "ds"))


def test_many_shards_load_as_one(tmp_path, monkeypatch):
    monkeypatch.setattr("pipeline.exports.shards.GROUP_ROWS", 2)
    monkeypatch.setattr("pipeline.exports.shards.FIRST_ROWS", 2)
    manifest = export([accepted(n) for n in range(9)], tmp_path / "ds", select("sft", shard_bytes=1))
    names = [shard.path for shard in manifest.shards if shard.view == "sft"]
    assert names == [f"sft/train-{i:05d}-of-00005.parquet" for i in range(5)]
    assert [pq.read_metadata(tmp_path / "ds" / name).num_rows for name in names] == [2, 2, 2, 2, 1]
    assert [row["id"] for row in load_view(tmp_path / "ds", "sft")["train"]] == [accepted(n).key for n in range(9)]


def test_a_split_or_view_without_rows_is_not_written(tmp_path):
    manifest = export([accepted(0)], tmp_path / "ds", CHOSEN)
    assert manifest.rows()["qa"] == {"train": 1}
    assert list(load_view(tmp_path / "ds", "qa")) == ["train"]


def test_nothing_accepted_is_no_error(tmp_path):
    manifest = export([rejected(), no_draft()], tmp_path / "ds", CHOSEN)
    assert manifest.shards == ()
    assert manifest.records == 2
    assert "no question was accepted" in (tmp_path / "ds" / "README.md").read_text()
    assert list((tmp_path / "ds").rglob("*.parquet")) == [tmp_path / "ds" / "seeds.parquet"]
    assert pl.read_parquet(tmp_path / "ds" / "seeds.parquet")["status"].to_list() == ["rejected"] * 2


def test_the_manifest_matches_the_files(tmp_path):
    manifest = export(batch(16), tmp_path / "ds", CHOSEN)
    tree = orjson.loads((tmp_path / "ds" / "manifest.json").read_bytes())
    assert tree == manifest.model_dump(mode="json")
    on_disk = {p.relative_to(tmp_path / "ds").as_posix() for p in (tmp_path / "ds").rglob("*") if p.is_file()}
    assert {file.path for file in (*manifest.shards, *manifest.files)} | {"manifest.json"} == on_disk
    for file in (*manifest.shards, *manifest.files):
        data = (tmp_path / "ds" / file.path).read_bytes()
        assert (hashlib.sha256(data).hexdigest(), len(data)) == (file.sha256, file.bytes)
    for shard in manifest.shards:
        assert pq.read_metadata(tmp_path / "ds" / shard.path).num_rows == shard.rows


def test_only_named_views_are_written(tmp_path):
    manifest = export(batch(8), tmp_path / "ds", select("sft"))
    assert set(manifest.rows()) == {"sft"}
    assert list(load_view(tmp_path / "ds", "sft")) == ["train", "eval"]


def test_below_target_is_exported_only_if_included(tmp_path):
    included = export(batch(16), tmp_path / "a", select("qa")).rows()["qa"]["train"]
    without = export(batch(16), tmp_path / "b", select("qa", include=())).rows()["qa"]["train"]
    assert included == without + 2


def test_unknown_names_are_refused_before_anything_is_written(tmp_path):
    with pytest.raises(UsageError, match="known"):
        export(batch(8), tmp_path / "ds", CHOSEN.model_copy(update={"views": ("nope",)}))
    assert list(tmp_path.iterdir()) == []


def test_a_failure_leaves_the_old_data_set(tmp_path):
    export(batch(8), tmp_path / "ds", CHOSEN)
    before = read_files(tmp_path / "ds")

    def fail_after_one():
        yield accepted(1)
        raise RuntimeError("kill")

    with pytest.raises(RuntimeError):
        export(fail_after_one(), tmp_path / "ds", CHOSEN)
    assert read_files(tmp_path / "ds") == before
    assert [p.name for p in tmp_path.iterdir() if p.is_dir()] == ["ds"]


@pytest.mark.slow
def test_exporting_a_journal_leaves_no_reference_cycle_per_record(tmp_path):
    collected = []
    for count in (2, 8):
        journal = Journal(tmp_path / str(count))
        for n in range(count):
            journal.append(accepted(n), order=f"{n:06d}")
        export(read_records(journal), tmp_path / "ds", CHOSEN)
        gc.collect()
        try:
            gc.disable()
            export(read_records(journal), tmp_path / "ds", CHOSEN)
            collected.append(gc.collect())
        finally:
            gc.enable()
        journal.close()
    assert collected[1] < collected[0] + 6


def test_environment_file_describes_what_a_trained_model_needs(tmp_path):
    export(batch(8), tmp_path / "ds", CHOSEN)
    tree = orjson.loads((tmp_path / "ds" / "environment.json").read_bytes())
    assert [tool["name"] for tool in tree["tools"]] == ["search", "open", "answer"]
    assert tree["k"] == 5
    assert tree["system"]
    assert tree["limits"]["searches"] == 12


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_change_no_key_of_the_front_matter(tmp_path, text):
    record = accepted(1)
    poisoned = {"attribution": text, "corpus": text, "model": text, "licence": text}
    lineage = record.lineage.model_copy(update=poisoned)
    export([record.model_copy(update={"lineage": lineage}), hostile(text=text)], tmp_path / "ds", select("qa"))
    tree = yaml.safe_load((tmp_path / "ds" / "README.md").read_text().split("\n---\n")[0].removeprefix("---\n"))
    assert tree["license"] == "other"
    assert tree["license_name"] == text
    assert {config["config_name"] for config in tree["configs"]} <= set(base.names())
    assert load_view(tmp_path / "ds", "qa")["train"].num_rows == 2


def test_a_writer_without_rows_makes_no_file(tmp_path):
    writer = ShardWriter(tmp_path, 1)
    writer.add("qa", "train", base.load("qa").schema, [])
    assert writer.close() == []
    assert list(tmp_path.iterdir()) == []


def test_search_r1_reads_its_shards_through_pandas(tmp_path):
    """Read as its `RLHFDataset` does, including the target of the reward and the index that groups rollouts."""
    export([accepted(n) for n in range(3)], tmp_path / "ds", CHOSEN)
    frame = pd.read_parquet(next((tmp_path / "ds" / "rl_search_r1").glob("*.parquet")))
    assert sorted(frame.columns) == sorted(base.load("rl_search_r1").schema.names)
    for row in frame.to_dict("records"):
        (message,) = row["prompt"]
        assert message["role"] == "user"
        assert row["question"] in message["content"]
        assert [str(gold) for gold in row["reward_model"]["ground_truth"]["target"]] == list(row["golden_answers"])
    assert frame["extra_info"].map(lambda info: info["index"]).is_unique
