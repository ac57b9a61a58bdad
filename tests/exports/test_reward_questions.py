"""Card, report and manifest count the questions of a data set that are of use for reinforcement learning."""

from pathlib import Path

import polars as pl
import pytest

from pipeline.config import build
from pipeline.exports.data_set import DatasetManifest, Selection, export
from pipeline.exports.report.page import page
from pipeline.exports.reward_questions import BAND_COMMAND, RewardQuestions
from pipeline.exports.shards import ShardFile
from pipeline.exports.views import base
from pipeline.types import Record
from tests.analysis.policy_measurements import measure
from tests.answer_types import decided
from tests.exports.trajectories.test_strict_calls import with_repairs
from tests.records import accepted
from tests.seed_tables import table


def with_solved(n: int, solved: int) -> Record:
    """Make a pair of whose four fresh rollouts `solved` are correct."""
    record = accepted(n)
    verdicts = tuple(
        verdict.model_copy(update={"right": index < solved, "supported": True})
        for index, verdict in enumerate(record.confirmation_verdicts)
    )
    return record.model_copy(update={"confirmation_verdicts": verdicts})


RECORDS = [with_solved(1, 4), with_solved(2, 4), with_solved(3, 2)]
MINE = 'models.policies.mine={provider="openai",model="m"}'


def export_to(
    folder: Path, *sets: str, records: list[Record] = RECORDS, views: tuple[str, ...] = ()
) -> DatasetManifest:
    return export(records, folder, Selection(config=build(sets=sets), views=views))


def test_without_a_policy_or_a_band_every_pair_is_exported_for_rewards(tmp_path: Path) -> None:
    manifest = export_to(tmp_path / "ds")
    assert manifest.rewards == RewardQuestions(some=1, every=2)
    rows = pl.read_parquet(tmp_path / "ds/rl_trl/*.parquet")
    assert sorted(rows["solve_rate"]) == [0.5, 1, 1]
    assert (tmp_path / "ds/code/reward.py").is_file()
    card = (tmp_path / "ds/README.md").read_text()
    line = "3 questions: 1 that some rollouts solved and some did not, 2 that all solved"
    assert f"`rl_*` hold {line}; for a band: {BAND_COMMAND}." in card
    read_record = {record.key: record for record in RECORDS}.__getitem__
    html = page(table(RECORDS), read_record, build(), data_set=manifest)
    assert f"<code>rl_*</code>: {line}; for a band: {BAND_COMMAND}." in html
    assert "<code>synthetic</code> (needs distractors)" in html


def test_a_policy_gets_questions_that_it_sometimes_solves_and_the_others_are_counted(tmp_path: Path) -> None:
    records = [
        accepted(n).model_copy(update={"measurements": (measure("mine", style),) if style else ()})
        for n, style in enumerate(("half", "all", "none", ""))
    ]
    manifest = export_to(tmp_path / "ds", MINE, "gates.policy=mine", records=records)
    assert manifest.rewards == RewardQuestions(policy="mine", some=1, every=1, none=1, unmeasured=1)
    assert pl.read_parquet(tmp_path / "ds/rl_trl/*.parquet")["solve_rate"].to_list() == [0.5]
    assert manifest.rewards.describe() == (
        "1 question: 1 that some rollouts of mine solved and some did not; left out: 1 that all solved, "
        "1 that none solved, 1 not measured (digsite remeasure)"
    )


def test_a_band_that_lets_always_solved_pairs_pass_exports_them(tmp_path: Path) -> None:
    record = accepted(1).model_copy(update={"measurements": (measure("mine", "all"),)})
    manifest = export_to(tmp_path / "ds", MINE, "gates.policy=mine", "gates.solve_rate=[0.1,1]", records=[record])
    assert manifest.rewards.describe().startswith("1 question: 0 that some rollouts of mine solved")
    assert len(pl.read_parquet(tmp_path / "ds/rl_trl/*.parquet")) == 1


def test_questions_are_counted_as_strict_trainers_grade_them(tmp_path: Path) -> None:
    records = [with_repairs(accepted(1), 0, 1, 3), with_repairs(with_solved(2, 4), 0)]
    manifest = export_to(tmp_path / "ds", "gates.strict_calls=true", records=records)
    assert manifest.rewards == RewardQuestions(some=1, none=1)
    assert "left out: 1 that none solved" in manifest.rewards.describe()


@pytest.mark.parametrize("views", [(), ("qa", "dpo", "synthetic")])
def test_views_without_a_row_are_named_with_what_they_need(tmp_path: Path, views: tuple[str, ...]) -> None:
    unwritten = export_to(tmp_path / "ds", records=[with_solved(1, 4)], views=views).unwritten
    assert unwritten["synthetic"] == "needs distractors"
    assert unwritten["dpo"] == "needs a right and a wrong rollout of one question"
    assert "qa" not in unwritten
    assert ("dpo_steps" in unwritten) == (not views)
    assert "Not written: `dpo` (needs a right and a wrong rollout" in (tmp_path / "ds/README.md").read_text()


def test_views_that_the_licence_forbids_are_named(tmp_path: Path) -> None:
    chosen = Selection(config=build(), redistribute="ids")
    unwritten = export([accepted(1)], tmp_path / "ds", chosen).unwritten
    assert unwritten["sft"] == "holds more of the corpus than may be passed on"
    assert "rl_trl" not in unwritten


def test_yes_or_no_questions_are_left_out_by_default(tmp_path: Path) -> None:
    records = [with_solved(1, 2), decided(2), decided(3)]
    manifest = export_to(tmp_path / "ds", records=records)
    assert manifest.rewards == RewardQuestions(some=1, yes_no=2)
    assert "left out: 2 of yes or no (gates.rl_yes_no=true takes them)" in (tmp_path / "ds/README.md").read_text()
    for view in (name for name in base.names() if name.startswith("rl_")):
        assert manifest.rows()[view] == {"train": 1}, view
    assert manifest.rows()["qa"] == {"train": 3}
    source = manifest.views["rl_trl"].source
    second = export_to(tmp_path / "ds", "gates.rl_yes_no=true", records=records, views=("rl_trl",))
    assert second.rewards == RewardQuestions(some=3)
    assert second.rows()["rl_trl"] == {"train": 3}
    assert second.views["rl_trl"].source != source, "another setting is another state of the views"


def _cut_counts(shard: ShardFile) -> ShardFile:
    return shard.model_copy(update={"within": tuple(0 for _ in shard.within)})


def test_card_and_report_say_how_many_rows_fit_into_a_context(tmp_path: Path) -> None:
    manifest = export_to(tmp_path / "ds", views=("qa", "sft"))
    assert manifest.token_shares() == {"sft": (1.0, 1.0, 1.0)}
    assert "| `sft` | 100% | 100% | 100% |" in (tmp_path / "ds/README.md").read_text()
    second = export_to(tmp_path / "ds", views=("kto",))
    assert second.token_shares().keys() == {"sft", "kto"}, "a view that is not replaced keeps its counts"
    read_record = {record.key: record for record in RECORDS}.__getitem__
    html = page(table(RECORDS), read_record, build(), data_set=manifest)
    assert "All views fit into 8k tokens." in html
    short = manifest.model_copy(update={"shards": tuple(_cut_counts(shard) for shard in manifest.shards)})
    html = page(table(RECORDS), read_record, build(), data_set=short)
    assert "Rows within 8k, 16k, 32k tokens: <code>sft</code> 0%, 0%, 0%. Other views fit into 8k tokens." in html
