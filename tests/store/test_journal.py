"""A journal has one good line per key, whatever happened to its files."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.store.journal import Journal
from pipeline.types import Record, Status
from tests.conftest import Figures

Make = Callable[[int], Record]


def write_journal(folder: Path, make: Make, numbers: range, writer: str = "main") -> Path:
    journal = Journal(folder, writer)
    for number in numbers:
        journal.append(make(number), f"{number:04}")
    journal.close()
    return folder / f"{writer}.jsonl"


def test_records_are_read_as_written(tmp_path: Path, make: Make) -> None:
    write_journal(tmp_path, make, range(20))
    journal = Journal(tmp_path)
    assert [journal.read(head.key) for head in journal.heads()] == [make(n) for n in range(20)]
    assert [head.order for head in journal.heads()] == [f"{n:04}" for n in range(20)]
    assert journal.heads()[3].reason == "below_target"
    assert journal.heads()[3].target_steps == 1
    assert (journal.torn, journal.damaged, journal.duplicates) == (0, 0, 0)


def test_the_union_is_by_key_and_the_first_line_wins(tmp_path: Path, make: Make) -> None:
    b, c = write_journal(tmp_path, make, range(3), "b"), write_journal(tmp_path, make, range(3, 5), "c")
    first = make(1).model_copy(update={"reason": "relaxed"})
    other_journal = Journal(tmp_path / "other", "a")
    other_journal.append(first, "0001")
    other_journal.close()
    (tmp_path / "a.jsonl").write_bytes((tmp_path / "other" / "a.jsonl").read_bytes())
    c.write_bytes(c.read_bytes() + b.read_bytes())
    journal = Journal(tmp_path)
    assert len(journal.entries) == 5
    assert journal.duplicates == 4
    assert journal.read(make(1).key) == first


def test_a_key_is_appended_once(tmp_path: Path, make: Make) -> None:
    path = write_journal(tmp_path, make, range(2))
    before = path.read_bytes()
    assert not Journal(tmp_path).append(make(1), "0001")
    assert not Journal(tmp_path, "other").append(make(1), "0001")
    assert path.read_bytes() == before


def test_a_longer_deadline_replaces_a_timed_out_line_in_any_order(tmp_path: Path, make: Make) -> None:
    ended = make(1).model_copy(update={"status": Status.FAILED, "reason": "deadline"})
    journal = Journal(tmp_path)
    assert [journal.append(ended, "0001", seconds) for seconds in (60, 60, 30, 90)] == [True, False, False, True]
    assert journal.heads()[0].clock == 90
    assert journal.append(make(1), "0001")
    assert not journal.append(ended, "0001", 1000)
    assert (journal.read(ended.key), Journal(tmp_path).read(ended.key)) == (make(1), make(1))
    journal.close()
    lines = (tmp_path / "main.jsonl").read_bytes().splitlines(keepends=True)
    (tmp_path / "main.jsonl").write_bytes(b"".join(reversed(lines)))
    assert Journal(tmp_path).read(ended.key) == make(1)


@pytest.mark.slow
def test_a_tear_at_any_byte_costs_only_the_torn_lines(tmp_path: Path, make: Make, figures: Figures) -> None:
    path = write_journal(tmp_path, make, range(5))
    intact = path.read_bytes()
    ends = [n + 1 for n, byte in enumerate(intact) if byte == 10]
    for cut in range(ends[1], len(intact) + 1):
        path.write_bytes(intact[:cut])
        journal = Journal(tmp_path)
        complete_count = sum(end <= cut for end in ends)
        assert len(journal.entries) == complete_count
        assert journal.damaged == 0
        assert journal.torn == (cut not in ends)
        if cut % 7 == 0 or cut in ends or cut - 1 in ends:
            write_journal(tmp_path, make, range(5))
            assert path.read_bytes() == intact
    figures({"tears": len(intact) + 1 - ends[1]}, {"other seeds owed": 0})


def test_a_tear_inside_the_history_costs_only_that_line(tmp_path: Path, make: Make) -> None:
    path = write_journal(tmp_path, make, range(3))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:100] + lines[2])
    journal = Journal(tmp_path)
    assert journal.damaged == 1
    assert list(journal.entries) == [make(0).key]


def test_every_flipped_bit_is_detected(tmp_path: Path, make: Make, figures: Figures) -> None:
    path = write_journal(tmp_path, make, range(4))
    intact = path.read_bytes()
    rng = random.Random(5)
    truth = {make(n).key: make(n) for n in range(4)}
    for _ in range(1000):
        offset = rng.randrange(len(intact))
        damaged = bytearray(intact)
        damaged[offset] ^= 1 << rng.randrange(8)
        path.write_bytes(damaged)
        journal = Journal(tmp_path)
        assert len(journal.entries) < 4
        assert journal.damaged + journal.torn >= 1
        assert all(journal.read(key) == truth[key] for key in journal.entries)
    figures({"flipped bits": 1000}, {"wrong records": 0})


@pytest.mark.parametrize(
    "junk", [b"\n", b"{}\n", b"[" * 100_000 + b"\n", b"\xff\xfe\n", b'{"sha256":"\n', b"\x85\x0c\r\n"]
)
def test_junk_lines_are_counted_as_damaged(tmp_path: Path, make: Make, junk: bytes) -> None:
    path = write_journal(tmp_path, make, range(3))
    path.write_bytes(junk + path.read_bytes())
    journal = Journal(tmp_path)
    assert journal.damaged == 1
    assert len(journal.entries) == 3
    assert journal.read(make(2).key) == make(2)


def test_reading_changes_nothing(tmp_path: Path, make: Make) -> None:
    path = write_journal(tmp_path, make, range(3))
    torn = path.read_bytes()[:-5]
    path.write_bytes(torn)
    journal = Journal(tmp_path)
    assert [journal.read(key).key for key in journal.entries] == list(journal.entries)
    assert path.read_bytes() == torn
    assert not (tmp_path / "nowhere").exists()
    assert not Journal(tmp_path / "nowhere").entries
    assert not (tmp_path / "nowhere").exists()


def test_a_growing_journal_is_read_incrementally(tmp_path: Path, make: Make) -> None:
    path = write_journal(tmp_path, make, range(3))
    intact = path.read_bytes()
    ends = [n + 1 for n, byte in enumerate(intact) if byte == 10]
    path.write_bytes(b"")
    journal = Journal(tmp_path, read_all=False)
    for size, entry_count, torn in ((ends[0], 1, 0), (ends[0] + 50, 1, 1), (ends[1] + 9, 2, 1), (ends[2], 3, 0)):
        with path.open("ab") as file:
            file.write(intact[path.stat().st_size : size])
        while journal.advance():
            pass
        assert (len(journal.entries), journal.torn, journal.damaged) == (entry_count, torn, 0)
    assert journal.read(make(2).key) == make(2)
