"""A wall clock that jumps by days changes nothing, even with an unreliable endpoint."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.command import CHEAP, Remains, finished, over, start
from tests.chaos.endpoint import serving
from tests.conftest import Figures

SEEDS = 12


def read_outputs(folder: Path, *through: str) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """Return journal and shards."""
    remains = Remains(folder / "out")
    module = ("tests.chaos.wrapped", *through) if through else ("pipeline.cli",)
    with serving(folder / "notes", "0.15", "1", "429", "429-after", "500", "reset", "shape") as endpoint:
        command = [*CHEAP, *over(endpoint.url), "--seeds", str(SEEDS)]
        finished(start(folder / "out", *command, through=module), timeout=120)
    remains.whole(SEEDS)
    return remains.known, remains.shards()


def collect_durations(tree: object, name: str = "") -> Iterator[float]:
    """Return all durations with that name in a tree."""
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from collect_durations(value, key)
    elif isinstance(tree, list):
        for value in tree:
            yield from collect_durations(value, name)
    elif "seconds" in name and isinstance(tree, int | float):
        yield tree


@pytest.mark.parametrize("jumping", [pytest.param(20, marks=pytest.mark.chaos)])
def test_jumps_of_the_wall_clock_change_nothing(tmp_path: Path, figures: Figures, jumping: int) -> None:
    (tmp_path / "calm").mkdir()
    calm, longest = read_outputs(tmp_path / "calm"), 0.0
    for number in range(jumping):
        (folder := tmp_path / str(number)).mkdir()
        assert read_outputs(folder, "clock", str(number)) == calm
        noted = [json.loads(line) for line in next(folder.glob("out/tiny/*/attempts.jsonl")).read_text().splitlines()]
        durations = list(collect_durations(noted))
        assert min(durations) >= 0
        longest = max(longest, *durations)
    figures({"runs": jumping, "jumps a second": 20.0}, {"other bytes": 0, "longest seed in s": round(longest, 1)})
    assert longest < 120
