"""The bench of what Prefect costs compares within a round, and times commands that ran."""

from pathlib import Path

import pytest

from bench import prefect
from bench.prefect import OWN, RUNNING, WITHOUT, Took, costs


def test_a_way_is_compared_with_the_same_round() -> None:
    # The machine was half as fast in the second round.
    first = {WITHOUT: Took(10, 8), OWN: Took(12, 9), RUNNING: Took(11, 10)}
    found = costs([first, {way: Took(2 * took.seconds, took.cpu) for way, took in first.items()}])
    assert found[WITHOUT] == (15, 0, 1, 8, 1)
    assert found[OWN] == (18, 3, 1.2, 9, 1.125)
    assert tuple(found[RUNNING]) == pytest.approx((16.5, 1.5, 1.1, 10, 1.25))


def test_a_command_that_did_not_work_is_no_figure(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match="without Prefect: exit 2: digsite: "):
        prefect.command(WITHOUT, ["nosuch", "--seeds", "1"], tmp_path, 0, {})
    assert prefect.command(WITHOUT, ["tiny", "--seeds", "1", "--set", "loop.rollouts=1"], tmp_path, 0, {}).cpu > 0
