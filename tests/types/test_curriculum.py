"""Bands and the order from easy to hard depend only on the pair, and one sort applies them."""

from pathlib import Path

import datasets
import orjson
import pandas as pd
import pyarrow.parquet as pq
import pytest

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig, build
from pipeline.exports.data_set import Selection, export
from pipeline.exports.views import base, qa
from pipeline.types import Assessment, PolicyMeasurement, Record
from pipeline.types.curriculum import COLUMNS, DIFFICULTY_BANDS, curriculum, difficulty_band, order
from tests.records import accepted
from tests.teacher_rollouts import taught

ENVIRONMENT = environment(RunConfig())
RL = [name for name in base.names() if name.startswith("rl_")]


@pytest.mark.parametrize(
    ("right", "rollouts", "name"),
    [(0, 4, "unsolved"), (1, 64, "hard"), (1, 3, "hard"), (2, 6, "hard"), (3, 8, "medium"), (2, 3, "medium"),
     (4, 6, "medium"), (3, 4, "easy"), (63, 64, "easy"), (4, 4, "always")],
)  # fmt: skip
def test_a_band_is_named_after_the_share_of_rollouts_that_solved_it(right: int, rollouts: int, name: str) -> None:
    assert difficulty_band(right / rollouts) == name
    assert name in DIFFICULTY_BANDS


def test_an_unmeasured_pair_has_no_band() -> None:
    assert difficulty_band(None) is None


def test_the_order_goes_by_failures_then_steps_then_hops_then_a_hash() -> None:
    ascending = [
        order(1.0, 9, 9, "f" * 64),
        order(0.75, 2, 4, "f" * 64),
        order(0.75, 3, 2, "f" * 64),
        order(0.75, 3, 3, "0" * 64),
        order(0.75, 3, 3, "1" * 64),
        order(0.5, 1, 1, "0" * 64),
        order(0.0, None, 1, "0" * 64),
    ]
    assert ascending == sorted(set(ascending))
    assert all(0 <= value < 1 for value in ascending)
    assert order(0.75, 99, 99, "0" * 64) < order(0.5, 1, 1, "0" * 64), "a lesser criterion never outweighs a greater"


def make_rated(n: int, right: int) -> Record:
    """Make a pair of whose four rollouts the policy `mine` solved `right`."""
    assessment = Assessment(
        policy="mine", model="m", retriever="bm25", k=5, rollouts=4, solve_rate=right / 4, least_steps=3
    )
    record = accepted(n, model="qwen")
    measurement = PolicyMeasurement(key=record.key, assessment=assessment, rollouts=(), verdicts=())
    return record.model_copy(update={"measurements": (measurement,)})


RECORDS = [make_rated(n, 1 + n % 3) for n in range(12)]


@pytest.mark.parametrize("view", ["qa", *RL])
def test_every_row_has_the_columns(view: str) -> None:
    for record in (taught(1, "qwen"), *RECORDS[:3]):
        for row in base.load(view).rows(record, ENVIRONMENT):
            values = orjson.loads(row["info"]) if view == "rl_verifiers" else row
            assert {name: values[name] for name in COLUMNS} == curriculum(record, "")
            assert (values["band"], values["order"]) == (None, None), "no policy was measured"


def test_the_band_is_that_of_the_data_sets_policy() -> None:
    assessment = Assessment(
        policy="pupil", model="m", retriever="bm25", k=5, rollouts=4, solve_rate=0.25, least_steps=7
    )
    measurement = PolicyMeasurement(key=RECORDS[0].key, assessment=assessment, rollouts=(), verdicts=())
    record = RECORDS[2].model_copy(update={"measurements": (measurement,)})
    config = build(values={"gates": {"policy": "pupil"}})
    rows = [next(qa.rows(record, environment(settings))) for settings in (RunConfig(), config)]
    assert [(row["band"], row["steps"]) for row in rows] == [(None, 3), ("hard", 3)]
    assert (rows[0]["order"], rows[1]["order"]) == (None, order(0.25, 3, 3, record.key))
    assert curriculum(record, "another")["band"] is None


def test_only_used_distractors_are_counted() -> None:
    (row,) = qa.rows(taught(1, "qwen"), ENVIRONMENT)
    distractor_eval = taught(1, "qwen").distractor_eval
    assert distractor_eval
    assert row["distractors"] == len(distractor_eval.used) > 0


def load(records: list[Record], folder: Path, config: RunConfig) -> datasets.Dataset:
    export(records, folder, Selection(config=config))
    return datasets.load_dataset(str(folder), "rl_trl", split="train", cache_dir=str(folder.parent / "cache"))


def test_one_line_sorts_a_loaded_view_and_further_pairs_do_not_change_the_order(tmp_path) -> None:
    policy = build(values={"gates": {"policy": "mine"}})

    def list_ids_in_order(records: list[Record], name: str) -> list[str]:
        rows = load(records, tmp_path / name, policy).sort("order")
        assert rows["solve_rate"] == sorted(rows["solve_rate"], reverse=True)
        return list(rows["id"])

    some, every = list_ids_in_order(RECORDS[:7], "some"), list_ids_in_order(RECORDS, "every")
    assert len(set(every)) == len(RECORDS)
    assert some == [key for key in every if key in some]
    assert list_ids_in_order(RECORDS[::-1], "turned") == every


def test_the_same_line_keeps_every_row_if_no_policy_was_measured(tmp_path) -> None:
    loaded = load(RECORDS, tmp_path / "ds", RunConfig())
    assert set(loaded["order"]) == set(loaded["band"]) == {None}
    assert loaded.sort("order")["id"] == loaded["id"]
    table = pd.read_parquet(tmp_path / "ds/rl_trl")
    assert table.sort_values("order")["id"].tolist() == list(loaded["id"])
    schema = pq.read_schema(next((tmp_path / "ds/rl_trl").glob("*.parquet")))
    assert (str(schema.field("band").type), str(schema.field("order").type)) == ("string", "double")
