"""With `gates.strict_calls`, rollouts that a strict parser could not read count for nothing in `rl_*`."""

from pathlib import Path

import polars as pl
import pyarrow as pa

from pipeline.agents.environment_file import environment
from pipeline.config import RunConfig, build
from pipeline.exports.data_set import Selection, export
from pipeline.exports.trajectories.strict_calls import fail_repaired_rollouts
from pipeline.exports.views import records
from pipeline.types import Record, Rollout
from tests.analysis.policy_measurements import measure
from tests.records import accepted


def mark_repaired(rollout: Rollout) -> Rollout:
    """Return the rollout with its first call marked as repaired."""
    messages = list(rollout.trajectory.messages)
    index = next(index for index, message in enumerate(messages) if message.tool_calls)
    first, *later_calls = messages[index].tool_calls
    calls = (first.model_copy(update={"repaired": True}), *later_calls)
    messages[index] = messages[index].model_copy(update={"tool_calls": calls})
    trajectory = rollout.trajectory.model_copy(update={"messages": tuple(messages)})
    return rollout.model_copy(update={"trajectory": trajectory})


def with_repairs(record: Record, *samples: int) -> Record:
    """Return the record with repaired calls in these rollouts of its confirmation."""
    confirmation = tuple(
        mark_repaired(rollout) if n in samples else rollout for n, rollout in enumerate(record.confirmation)
    )
    return record.model_copy(update={"confirmation": confirmation})


def test_a_repaired_rollout_counts_as_unsolved_for_the_solver_and_for_policies() -> None:
    plain = accepted(1)
    assert fail_repaired_rollouts(plain) is plain
    assert [v.correct for v in plain.confirmation_verdicts] == [True, True, False, True]
    repaired = with_repairs(plain, 0, 2)
    assert (repaired.solve_rate, fail_repaired_rollouts(repaired).solve_rate) == (0.75, 0.5)
    assert [rollout.repaired for rollout in repaired.confirmation] == [True, False, True, False]
    assert fail_repaired_rollouts(with_repairs(plain, 0, 1, 3)).hardness == (None, 0.0)
    measurement = measure("mine")
    measurement = measurement.model_copy(
        update={"rollouts": (mark_repaired(measurement.rollouts[0]), *measurement.rollouts[1:])}
    )
    record = plain.model_copy(update={"measurements": (measurement,)})
    before, after = record.hardness_for("mine"), fail_repaired_rollouts(record).hardness_for("mine")
    assert before[1] == sum(v.correct for v in measurement.verdicts) / 4
    assert after[1] == sum(v.correct for v in measurement.verdicts[1:]) / 4 < before[1]
    assert fail_repaired_rollouts(record).hardness == plain.hardness


def test_only_rl_views_count_strictly_and_only_if_requested(tmp_path: Path) -> None:
    records_to_export = [with_repairs(accepted(1), 0), with_repairs(accepted(2), 0, 1, 3), accepted(3)]

    def rates(view: str, *sets: str) -> list[float]:
        folder = tmp_path / "".join(sets) / view
        export(records_to_export, folder, Selection(config=build(sets=sets), views=(view,)))
        return pl.read_parquet(folder / view / "*.parquet")["solve_rate"].to_list()

    strictly = "gates.strict_calls=true"
    for view in ("rl_search_r1", "rl_verl_tool", "rl_trl"):
        assert rates(view) == [0.75, 0.75, 0.75]
        assert rates(view, strictly) == [0.5, 0.75]
    assert rates("sft", strictly) == rates("sft") == [0.75, 0.75, 0.75]


def test_the_mark_of_a_repair_is_kept() -> None:
    record = with_repairs(accepted(1), 0)
    assert record.model_dump_json().count('"repaired":true') == 1
    assert Record.model_validate_json(record.model_dump_json()) == record
    rows = list(records.rows(record, environment(RunConfig())))
    (row,) = pa.Table.from_pylist(rows, schema=records.SCHEMA).to_pylist()
    assert records.record(row) == record
