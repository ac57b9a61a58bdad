"""Forks are stored once, completely or not at all, and joined to their records."""

from pathlib import Path

from pipeline.store.amendments import Forks
from tests.fork_records import branched
from tests.records import accepted

RECORD = branched()


def write_forks(folder: Path) -> Path:
    forks = Forks(folder)
    for fork in RECORD.forks:
        forks.append(fork.method, fork)
        forks.append(fork.method, fork)
    forks.close()
    return folder / "branches" / "eef.jsonl"


def test_forks_are_read_as_written_and_once(tmp_path: Path) -> None:
    lines = write_forks(tmp_path).read_bytes().splitlines()
    assert len(lines) == 4
    joined = list(map(Forks(tmp_path).join, [accepted(1), accepted(2)]))
    assert joined[0] == RECORD.model_copy(update={"forks": joined[0].forks})
    assert set(joined[0].forks) == set(RECORD.forks)
    assert joined[1] == accepted(2)


def test_forks_are_ordered_by_state_in_any_order_of_lines(tmp_path: Path) -> None:
    path = write_forks(tmp_path)
    before = Forks(tmp_path).of(RECORD.key)
    path.write_bytes(b"".join(reversed(path.read_bytes().splitlines(keepends=True))))
    assert Forks(tmp_path).of(RECORD.key) == before
    assert [fork.prefix for fork in before if fork.method == "eef"] == [2, 4, 6, 8]


def test_a_damaged_line_is_skipped_and_can_be_written_again(tmp_path: Path) -> None:
    path = write_forks(tmp_path)
    intact = path.read_bytes()
    first, second, *_ = intact.splitlines(keepends=True)
    path.write_bytes(first.replace(b"right", b"wrong", 1) + second + intact[len(first + second) : -9])
    assert len([f for f in Forks(tmp_path).of(RECORD.key) if f.method == "eef"]) == 2
    write_forks(tmp_path)
    assert set(Forks(tmp_path).of(RECORD.key)) == set(RECORD.forks)
