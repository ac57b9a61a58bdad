"""`kill -9` of the real command at any moment: each seed exactly once, no half file, nothing paid for twice but what
was in flight, and in the end the same bytes as without any kill.
"""

import os
import random
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple
from unittest.mock import patch

import orjson
import pytest

from tests.chaos.command import CHEAP, CONCURRENCY, KEY, Remains, finished, kill, orphans, over, start, twice, until
from tests.chaos.endpoint import Endpoint, serving
from tests.chaos.wrapped import OPERATIONS
from tests.cli.conftest import run_well
from tests.conftest import Figures

EACH = 5
"""Kills at each operation."""


class Straight(NamedTuple):
    """The outputs of a run without a kill."""

    lines: dict[str, bytes]
    shards: dict[str, bytes]
    answered: set[str]


def run_undisturbed(folder: Path, seeds: int) -> Straight:
    """Run in this process, since nothing kills it."""
    with serving(folder / "calm") as endpoint, patch.dict(os.environ, {"CANARY_KEY": KEY}):
        options = [*CHEAP, *over(endpoint.url), "--seeds", str(seeds)]
        run_well("generate", "tiny", "--out", folder / "whole", *options)
        remains, answered = Remains(folder / "whole"), endpoint.answered()
    remains.whole(seeds)
    assert twice(answered) == 0
    return Straight(remains.known, remains.shards(), set(answered))


def wait_for_answers(endpoint: Endpoint, count: int, process: subprocess.Popen[str]) -> None:
    """Wait until the endpoint has answered so many more requests."""
    target = len(endpoint.answered()) + count
    until(lambda: len(endpoint.answered()) >= target, process)


def kill_at_random(out: Path, endpoint: Endpoint, kills: int, chance: int, seeds: int) -> Remains:
    """Kill the command again and again: two thirds of the times after more answers, else after some seconds."""
    rng, remains, total_answers = random.Random(chance), Remains(out), 5 * seeds
    for number in range(kills):
        process = start(out, *CHEAP, *over(endpoint.url), "--seeds", str(seeds))
        if number % 3:
            wait_for_answers(endpoint, rng.randrange(1, max(2, total_answers // kills)), process)
        else:
            time.sleep(rng.uniform(0.1, min(3.0, seeds / 64)))
        assert kill(process), "it came to its end before it was killed"
        assert orphans(out) == []
        remains.look()
    finished(start(out, *CHEAP, *over(endpoint.url), "--seeds", str(seeds)))
    return remains


@pytest.fixture(scope="module")
def undisturbed_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Straight]:
    """Return a cached function that runs so many seeds without a kill."""
    return cache(lambda seeds: run_undisturbed(tmp_path_factory.mktemp("straight"), seeds))


@pytest.mark.parametrize(
    ("size", "chance"),
    [
        pytest.param((2, 16), 0, marks=pytest.mark.slow),
        *(pytest.param((50, 500), chance, marks=pytest.mark.chaos) for chance in (1, 2, 3, 4)),
    ],
)
def test_kills_at_random_moments(
    tmp_path: Path,
    endpoint: Endpoint,
    figures: Figures,
    undisturbed_run: Callable[[int], Straight],
    size: tuple[int, int],
    chance: int,
) -> None:
    """The size is the number of kills and of seeds."""
    kills, seeds = size
    remains = kill_at_random(tmp_path / "out", endpoint, kills, chance, seeds)
    remains.whole(seeds)
    answered, undisturbed = endpoint.answered(), undisturbed_run(seeds)
    repaid = twice(answered)
    figures({"kills": kills, "seeds": seeds}, {"lost": 0, "doubled": 0, "unreadable": 0, "calls paid twice": repaid})
    assert repaid <= CONCURRENCY * kills
    assert set(answered) == undisturbed.answered
    assert remains.known == undisturbed.lines
    assert remains.shards() == undisturbed.shards


SEEDS = 16


@pytest.fixture(scope="module")
def operation_counts_of_a_run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[dict[str, int]]]:
    """Count each disk operation in a complete run, and in one that only has to export."""
    folder = tmp_path_factory.mktemp("counted")
    with serving(folder / "notes") as endpoint:
        yield [_count_operations(folder, endpoint, str(number)) for number in range(2)]


def _count_operations(folder: Path, endpoint: Endpoint, name: str) -> dict[str, int]:
    finished(start_wrapped(folder / "out", endpoint, "count", str(folder / name)))
    return orjson.loads((folder / name).read_bytes())


def start_wrapped(out: Path, endpoint: Endpoint, *fault: str) -> subprocess.Popen[str]:
    through = ("tests.chaos.wrapped", *fault)
    return start(out, *CHEAP, *over(endpoint.url), "--seeds", str(SEEDS), through=through)


@pytest.mark.parametrize(
    "operation",
    [
        "before rename",
        *(pytest.param(operation, id=f"{operation} again", marks=pytest.mark.chaos) for operation in OPERATIONS),
    ],
)
def test_kills_at_every_change_of_the_disk(
    tmp_path: Path,
    endpoint: Endpoint,
    figures: Figures,
    undisturbed_run: Callable[[int], Straight],
    operation: str,
    request: pytest.FixtureRequest,
) -> None:
    """The resumed command is killed too, each time at a random one of the remaining operations."""
    rng, remains, out = random.Random(operation), Remains(tmp_path / "out"), tmp_path / "out"
    undisturbed = undisturbed_run(SEEDS)
    full = request.node.get_closest_marker("chaos") is not None
    operation_counts = (
        request.getfixturevalue("operation_counts_of_a_run") if full else [{operation: 12}, {operation: 12}]
    )
    (remaining, export_operations), kills = (int(counts.get(operation, 0)) for counts in operation_counts), 0
    for _ in range(EACH if full else 1):
        number = rng.randint(1, max(remaining, 1))
        process = start_wrapped(out, endpoint, "kill", f"{operation}:{number}")
        process.communicate(timeout=300)
        kills += process.returncode != 0
        remaining = max(export_operations, remaining - number)
        remains.look()
    finished(start_wrapped(out, endpoint, "count", str(tmp_path / "counted")))
    remains.whole(SEEDS)
    repaid = twice(endpoint.answered())
    figures({"operations": 1, "kills": kills}, {"lost": 0, "doubled": 0, "half files": 0, "calls paid twice": repaid})
    assert kills
    assert repaid <= CONCURRENCY * kills
    assert (remains.known, remains.shards()) == (undisturbed.lines, undisturbed.shards)
