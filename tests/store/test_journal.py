"""One good line per key, whatever happened to the file."""

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from pipeline.store.journal import Journal
from pipeline.types import Record, Status
from tests.conftest import Figures

Make = Callable[[int], Record]


def written(folder: Path, make: Make, numbers: range, writer: str = "main") -> Path:
    journal = Journal(folder, writer)
    for number in numbers:
        journal.append(make(number), f"{number:04}")
    journal.close()
    return folder / f"{writer}.jsonl"


def test_what_is_read_is_what_was_written(tmp_path: Path, make: Make) -> None:
    written(tmp_path, make, range(20))
    journal = Journal(tmp_path)
    assert [journal.read(head.key) for head in journal.heads()] == [make(n) for n in range(20)]
    assert [head.order for head in journal.heads()] == [f"{n:04}" for n in range(20)]
    assert journal.heads()[3].reason == "below_target"
    assert journal.heads()[3].target_steps == 1
    assert (journal.torn, journal.damaged, journal.duplicates) == (0, 0, 0)


def test_the_union_is_by_key_and_the_first_line_wins(tmp_path: Path, make: Make) -> None:
    b, c = written(tmp_path, make, range(3), "b"), written(tmp_path, make, range(3, 5), "c")
    first = make(1).model_copy(update={"reason": "relaxed"})
    other = Journal(tmp_path / "other", "a")
    other.append(first, "0001")
    other.close()
    (tmp_path / "a.jsonl").write_bytes((tmp_path / "other" / "a.jsonl").read_bytes())
    c.write_bytes(c.read_bytes() + b.read_bytes())
    journal = Journal(tmp_path)
    assert len(journal.entries) == 5
    assert journal.duplicates == 4
    assert journal.read(make(1).key) == first


def test_a_key_is_appended_once(tmp_path: Path, make: Make) -> None:
    path = written(tmp_path, make, range(2))
    before = path.read_bytes()
    assert not Journal(tmp_path).append(make(1), "0001")
    assert not Journal(tmp_path, "other").append(make(1), "0001")
    assert path.read_bytes() == before


def test_a_line_that_a_clock_ended_gives_way_to_one_of_a_longer_clock_wherever_it_stands(
    tmp_path: Path, make: Make
) -> None:
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


def test_a_tear_at_any_byte_of_the_last_three_lines_owes_those_again(
    tmp_path: Path, make: Make, figures: Figures
) -> None:
    path = written(tmp_path, make, range(5))
    whole = path.read_bytes()
    ends = [n + 1 for n, byte in enumerate(whole) if byte == 10]
    for cut in range(ends[1], len(whole) + 1):
        path.write_bytes(whole[:cut])
        journal = Journal(tmp_path)
        kept = sum(end <= cut for end in ends)
        assert len(journal.entries) == kept
        assert journal.damaged == 0
        assert journal.torn == (cut not in ends)
        if cut % 7 == 0 or cut in ends or cut - 1 in ends:
            written(tmp_path, make, range(5))
            assert path.read_bytes() == whole
    figures({"tears": len(whole) + 1 - ends[1]}, {"other seeds owed": 0})


def test_a_tear_inside_the_history_costs_that_line_only(tmp_path: Path, make: Make) -> None:
    path = written(tmp_path, make, range(3))
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(lines[0] + lines[1][:100] + lines[2])
    journal = Journal(tmp_path)
    assert journal.damaged == 1
    assert list(journal.entries) == [make(0).key]


def test_a_thousand_flipped_bytes_are_each_found(tmp_path: Path, make: Make, figures: Figures) -> None:
    path = written(tmp_path, make, range(4))
    whole = path.read_bytes()
    chance = random.Random(5)
    truth = {make(n).key: make(n) for n in range(4)}
    for _ in range(1000):
        place = chance.randrange(len(whole))
        damaged = bytearray(whole)
        damaged[place] ^= 1 << chance.randrange(8)
        path.write_bytes(damaged)
        journal = Journal(tmp_path)
        assert len(journal.entries) < 4
        assert journal.damaged + journal.torn >= 1
        assert all(journal.read(key) == truth[key] for key in journal.entries)
    figures({"flipped bits": 1000}, {"wrong records": 0})


@pytest.mark.parametrize(
    "junk", [b"\n", b"{}\n", b"[" * 100_000 + b"\n", b"\xff\xfe\n", b'{"sha256":"\n', b"\x85\x0c\r\n"]
)
def test_junk_lines_are_counted_and_owed(tmp_path: Path, make: Make, junk: bytes) -> None:
    path = written(tmp_path, make, range(3))
    path.write_bytes(junk + path.read_bytes())
    journal = Journal(tmp_path)
    assert journal.damaged == 1
    assert len(journal.entries) == 3
    assert journal.read(make(2).key) == make(2)


def test_reading_changes_nothing(tmp_path: Path, make: Make) -> None:
    path = written(tmp_path, make, range(3))
    torn = path.read_bytes()[:-5]
    path.write_bytes(torn)
    journal = Journal(tmp_path)
    assert [journal.read(key).key for key in journal.entries] == list(journal.entries)
    assert path.read_bytes() == torn
    assert not (tmp_path / "nowhere").exists()
    assert not Journal(tmp_path / "nowhere").entries
    assert not (tmp_path / "nowhere").exists()


def test_a_journal_that_grows_is_read_on_from_where_it_was(tmp_path: Path, make: Make) -> None:
    path = written(tmp_path, make, range(3))
    whole = path.read_bytes()
    ends = [n + 1 for n, byte in enumerate(whole) if byte == 10]
    path.write_bytes(b"")
    journal = Journal(tmp_path, read_all=False)
    for size, known, torn in ((ends[0], 1, 0), (ends[0] + 50, 1, 1), (ends[1] + 9, 2, 1), (ends[2], 3, 0)):
        with path.open("ab") as file:
            file.write(whole[path.stat().st_size : size])
        while journal.advance():
            pass
        assert (len(journal.entries), journal.torn, journal.damaged) == (known, torn, 0)
    assert journal.read(make(2).key) == make(2)
