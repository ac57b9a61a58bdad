"""`seeds.parquet` has one row per seed in the order of the plan, and the same bytes for the same journal."""

import hashlib
from pathlib import Path
from typing import Any

import orjson
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.analysis import seed_rows as seeds
from pipeline.analysis import seed_table
from pipeline.analysis.figures import figures
from pipeline.config import RunConfig, build
from pipeline.exports.data_set import read_manifest
from pipeline.gates import Drop
from pipeline.run import publish, resume
from pipeline.store.files import write_json
from pipeline.store.journal import Journal, RunIdentity
from pipeline.types import Record, Status
from tests.records import RUN, accepted, batch, below_target, hostile, no_draft, rejected, seed, world
from tests.teacher_rollouts import blindly_read, taught


def begin_run(out: Path, records: list[Record], *writers: str, run: RunIdentity = RUN) -> tuple[Path, RunConfig]:
    """Begin a run with these records in its journal, in turns by its writers."""
    values = {"corpus": {"name": "tiny"}, "runtime": {"out": out, "seeds": len(records)}}
    config = build(values=values | {"gates": {"least": 99}})
    folder = config.folder()
    resume.begin(folder, config, run.corpus_fingerprint)
    stored = resume.read(folder).model_copy(update={"digest": run.digest})
    write_json(folder / resume.NAME, stored.model_dump(mode="json"))
    journals = [Journal(folder / "journal", writer) for writer in writers or ("main",)]
    for index, record in enumerate(records):
        journals[index % len(journals)].append(record, f"{index:06}")
    return folder, config


def export_table(folder: Path, config: RunConfig, **options: Any) -> Path:
    publish.dataset(folder, config, **options)
    return folder / "dataset" / seed_table.NAME


def include_below_target(config: RunConfig) -> RunConfig:
    return config.model_copy(update={"gates": config.gates.model_copy(update={"include": ("below_target",)})})


def test_there_is_a_row_per_seed_in_the_order_of_the_plan_with_its_journal_file(tmp_path: Path) -> None:
    records = batch(48)
    folder, config = begin_run(tmp_path, records, "b", "a")
    table = pl.read_parquet(export_table(folder, config))
    assert table["key"].to_list() == [record.key for record in records]
    assert table["plan_order"].is_sorted()
    for row in table.select("key", "journal_file").to_dicts():
        lines = (folder / "journal" / row["journal_file"]).read_bytes().split(b"\n")
        assert row["key"] in [orjson.loads(line)["record"]["key"] for line in lines if line]


def test_a_row_describes_the_outcome_of_a_seed(tmp_path: Path) -> None:
    records = [accepted(1, rounds=2), rejected(2), no_draft(3), blindly_read(taught(4), True, False, False)]
    rows = seed_table.frame(map(seeds.row, records)).collect().to_dicts()
    first, second, third, fourth = rows
    draft = records[0].draft
    assert draft
    expected = {
        "status": "accepted", "reason": "", "gate": None, "cause": "superficial", "stage": "accepted", "split": "train",
        "strategy": "sage", "target_steps": 3, "question": draft.question, "answer": draft.answer, "hops": 3,
        "difficulty": 3, "solve_rate": 0.75, "measured_rollouts": 4, "correct_rollouts": 3, "rounds": 2,
        "labels": ["too_easy", "accepted"], "causes": ["superficial", None], "least_steps": [1, 3],
    }  # fmt: skip
    assert first | expected == first
    assert (second["status"], second["reason"], second["stage"]) == ("rejected", "superficial", "solved")
    assert (third["stage"], third["question"], third["hops"], third["labels"]) == ("planned", None, None, ["none"])
    assert [entry["rejected_by"] for entry in fourth["distractors"]] == ["marked", "", "unwritten"]
    assert [(entry["blind_readings"], entry["blind_named"]) for entry in fourth["distractors"]] == [
        (3, 3),
        (3, 1),
        (0, 0),
    ]
    evaluation = records[3].distractor_eval
    assert evaluation
    steps = [(entry["sample"], entry["steps_without"], entry["steps_with"]) for entry in fourth["distractor_rollouts"]]
    pairs = zip(evaluation.without_distractors_verdicts, evaluation.with_distractors_verdicts, strict=True)
    assert steps == [(without.sample, without.steps, among.steps) for without, among in pairs]
    for record, row in zip(records, rows, strict=True):
        for role, usage in record.usage.items():
            assert [row[f"{role}_{name}"] for name in seeds.COUNTS] == [getattr(usage, name) for name in seeds.COUNTS]


def test_a_dropped_pair_has_its_gate_and_detail(tmp_path: Path) -> None:
    second_seed = seed(world(1), 1).model_copy(update={"key": RUN.key(world(1).bridge.id, 2), "draw": 2})
    folder, config = begin_run(
        tmp_path, [accepted(1), accepted(1).model_copy(update={"key": second_seed.key, "seed": second_seed})]
    )
    passed, dropped = pl.read_parquet(export_table(folder, config)).to_dicts()
    assert (passed["status"], passed["gate"], passed["gate_detail"]) == ("accepted", None, None)
    assert (dropped["status"], dropped["reason"], dropped["gate"]) == ("rejected", "gate:duplicate", "duplicate")
    assert dropped["gate_detail"]


def test_the_same_journal_gives_the_same_bytes_whichever_views_are_exported(tmp_path: Path) -> None:
    folder, config = begin_run(tmp_path, batch(24))
    path = export_table(folder, config)
    before = path.read_bytes()
    assert export_table(folder, config, views=("qa",)).read_bytes() == before
    (file,) = [file for file in read_manifest(folder / "dataset").files if file.path == seed_table.NAME]
    assert (file.bytes, file.sha256) == (len(before), hashlib.sha256(before).hexdigest())


@pytest.mark.slow
def test_included_pairs_keep_the_order_of_the_plan(tmp_path: Path) -> None:
    folder, config = begin_run(tmp_path, batch(40))
    plain = pl.read_parquet(export_table(folder, config))
    included = pl.read_parquet(export_table(folder, include_below_target(config)))
    assert included["key"].to_list() == plain["key"].to_list()
    assert included["plan_order"].is_sorted()


def test_an_included_pair_that_a_gate_drops_keeps_its_outcome_in_the_table(tmp_path: Path) -> None:
    second_seed = seed(world(1), 1).model_copy(update={"key": RUN.key(world(1).bridge.id, 2), "draw": 2})
    low = below_target(1).model_copy(update={"key": second_seed.key, "seed": second_seed})
    folder, config = begin_run(tmp_path, [accepted(1), low])
    before = figures(pl.scan_parquet(export_table(folder, config)))
    path = export_table(folder, include_below_target(config))
    assert figures(pl.scan_parquet(path)) == before
    out = pl.read_parquet(path).to_dicts()[1]
    assert (out["reason"], out["gate"], out["stage"]) == ("below_target", "duplicate", "candidate")
    assert out["labels"] == ["candidate"]
    assert read_manifest(folder / "dataset").rows()["qa"] == {"train": 1}


def test_rows_are_written_in_groups_and_equal_the_table_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pipeline.analysis.seed_table.GROUP_ROWS", 10)
    folder, config = begin_run(tmp_path, batch(32))
    path = export_table(folder, config)
    assert pq.ParquetFile(path).num_row_groups == 4
    records = publish.RunRecords(folder, config)
    assert seed_table.frame(map(records.row, records)).collect().equals(pl.read_parquet(path))
    assert pq.read_schema(path).remove_metadata() == seeds.SCHEMA


def test_a_run_that_continued_since_its_export_is_read_from_its_journal(tmp_path: Path) -> None:
    records = batch(24)
    folder, config = begin_run(tmp_path, records[:20])
    path = export_table(folder, config)
    config = config.model_copy(update={"runtime": config.runtime.model_copy(update={"seeds": 24})})
    journal = Journal(folder / "journal")
    for index, record in enumerate(records[20:], 20):
        journal.append(record, f"{index:06}")
    records_of_run = publish.RunRecords(folder, config)
    assert seed_table.scan_current(path, records_of_run.source) is None
    assert records_of_run.seeds().collect()["key"].to_list() == [record.key for record in records]
    export_table(folder, config)
    assert seed_table.scan_current(path, records_of_run.source) is not None


def test_a_foreign_file_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / seed_table.NAME
    assert seed_table.scan_current(path, "") is None
    path.write_bytes(b"PAR1 not at all")
    assert seed_table.scan_current(path, "") is None
    pq.write_table(pa.table({"key": ["a"]}), path)
    assert seed_table.scan_current(path, "") is None


def test_a_run_without_seeds_has_a_table_without_rows() -> None:
    assert seed_table.frame([]).collect().height == 0


def test_hostile_text_is_kept_and_keys_and_addresses_are_masked() -> None:
    draft = (record := hostile()).draft
    assert draft
    assert seeds.row(record)["question"] == draft.question
    secret = draft.model_copy(update={"question": "Who has the mail ada.brannick@example.org?"})
    past = record.rounds[-1].model_copy(update={"draft": secret})
    record = record.model_copy(update={"rounds": (past,), "status": Status.REJECTED, "reason": "ambiguous"})
    assert seeds.row(record)["question"] == "Who has the mail [an e-mail address]?"
    for dropped in (
        seeds.row(record.model_copy(update={"reason": "gate:personal"})),
        seeds.row(record, drop=Drop("personal", "it holds an e-mail address")),
    ):
        assert "question" not in dropped
