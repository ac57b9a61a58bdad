"""`kill -9` of the real command at any moment: each seed exactly once, no half file, nothing paid for twice but what
was in flight, and in the end the same bytes as without any kill.
"""

import random
import subprocess
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

import orjson
import pytest

from tests.chaos.command import CHEAP, CONCURRENCY, Remains, finished, kill, orphans, over, start, twice, until
from tests.chaos.endpoint import Endpoint, serving
from tests.chaos.wrapped import OPERATIONS
from tests.conftest import Figures

EACH = 5
"""Kills at each operation."""


class Straight(NamedTuple):
    """What a run without a kill leaves."""

    lines: dict[str, bytes]
    shards: dict[str, bytes]
    answered: set[str]


def straight(folder: Path, seeds: int) -> Straight:
    with serving(folder / "calm") as endpoint:
        finished(start(folder / "whole", *CHEAP, *over(endpoint.url), "--seeds", str(seeds)))
        remains, answered = Remains(folder / "whole"), endpoint.answered()
    remains.whole(seeds)
    assert twice(answered) == 0
    return Straight(remains.known, remains.shards(), set(answered))


def answers(endpoint: Endpoint, more: int, process: subprocess.Popen[str]) -> None:
    """Wait until the endpoint has answered so many more requests."""
    wanted = len(endpoint.answered()) + more
    until(lambda: len(endpoint.answered()) >= wanted, process)


def killed_at_random(out: Path, endpoint: Endpoint, kills: int, chance: int, seeds: int) -> Remains:
    """Two thirds of the kills come after some more answers, the others after some time, which may be the start-up."""
    draw, remains, whole = random.Random(chance), Remains(out), 5 * seeds
    for number in range(kills):
        process = start(out, *CHEAP, *over(endpoint.url), "--seeds", str(seeds))
        if number % 3:
            answers(endpoint, draw.randrange(1, max(2, whole // kills)), process)
        else:
            time.sleep(draw.uniform(0.1, min(3.0, seeds / 64)))
        assert kill(process), "it came to its end before it was killed"
        assert orphans(out) == []
        remains.look()
    finished(start(out, *CHEAP, *over(endpoint.url), "--seeds", str(seeds)))
    return remains


@pytest.fixture(scope="module")
def straight_run(tmp_path_factory: pytest.TempPathFactory) -> Callable[[int], Straight]:
    """By the number of seeds; each is made once."""
    return cache(lambda seeds: straight(tmp_path_factory.mktemp("straight"), seeds))


@pytest.mark.parametrize(
    ("size", "chance"),
    [((2, 16), 0), *(pytest.param((50, 500), chance, marks=pytest.mark.chaos) for chance in (1, 2, 3, 4))],
)
def test_kills_at_random_moments(
    tmp_path: Path,
    endpoint: Endpoint,
    figures: Figures,
    straight_run: Callable[[int], Straight],
    size: tuple[int, int],
    chance: int,
) -> None:
    """Of so many kills and seeds."""
    kills, seeds = size
    remains = killed_at_random(tmp_path / "out", endpoint, kills, chance, seeds)
    remains.whole(seeds)
    answered, whole = endpoint.answered(), straight_run(seeds)
    repaid = twice(answered)
    figures({"kills": kills, "seeds": seeds}, {"lost": 0, "doubled": 0, "unreadable": 0, "calls paid twice": repaid})
    assert repaid <= CONCURRENCY * kills
    assert set(answered) == whole.answered
    assert remains.known == whole.lines
    assert remains.shards() == whole.shards


SEEDS = 16


@pytest.fixture(scope="module")
def operations(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[dict[str, int]]]:
    """How often each operation comes in a whole run, and in one that has only its export left."""
    folder = tmp_path_factory.mktemp("counted")
    with serving(folder / "notes") as endpoint:
        yield [_counted(folder, endpoint, str(number)) for number in range(2)]


def _counted(folder: Path, endpoint: Endpoint, name: str) -> dict[str, int]:
    finished(at(folder / "out", endpoint, "count", str(folder / name)))
    return orjson.loads((folder / name).read_bytes())


def at(out: Path, endpoint: Endpoint, *fault: str) -> subprocess.Popen[str]:
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
    straight_run: Callable[[int], Straight],
    operation: str,
    request: pytest.FixtureRequest,
) -> None:
    """The command that goes on is killed too, each time at any of the operations that are left."""
    draw, remains, out = random.Random(operation), Remains(tmp_path / "out"), tmp_path / "out"
    whole = straight_run(SEEDS)
    full = request.node.get_closest_marker("chaos") is not None
    counted = request.getfixturevalue("operations") if full else [{operation: 12}, {operation: 12}]
    (left, least), kills = (int(counts.get(operation, 0)) for counts in counted), 0
    for _ in range(EACH if full else 1):
        number = draw.randint(1, max(left, 1))
        process = at(out, endpoint, "kill", f"{operation}:{number}")
        process.communicate(timeout=300)
        kills += process.returncode != 0
        left = max(least, left - number)
        remains.look()
    finished(at(out, endpoint, "count", str(tmp_path / "counted")))
    remains.whole(SEEDS)
    repaid = twice(endpoint.answered())
    figures({"operations": 1, "kills": kills}, {"lost": 0, "doubled": 0, "half files": 0, "calls paid twice": repaid})
    assert kills
    assert repaid <= CONCURRENCY * kills
    assert (remains.known, remains.shards()) == (whole.lines, whole.shards)
