"""The cache returns what was put, or a miss, or an error in one line that names the file."""

import random
import sqlite3
import subprocess
import sys
import threading
from hashlib import sha256
from pathlib import Path

import pytest

from pipeline.errors import StoreError
from pipeline.store.cache import BatchCache, Cache
from tests.conftest import Figures


def digest(number: int) -> bytes:
    return sha256(str(number).encode()).digest()


def count_answers(path: Path) -> int:
    """Return the number of answers in the file."""
    return int(sqlite3.connect(path).execute("SELECT count(*) FROM answers").fetchone()[0])


def test_the_first_answer_wins_for_every_reader(tmp_path: Path) -> None:
    first, second = Cache(tmp_path / "c.sqlite"), Cache(tmp_path / "c.sqlite")
    assert first.get(digest(1)) is None
    assert first.put(digest(1), b'"first"') == b'"first"'
    assert second.put(digest(1), b'"second"') == b'"first"'
    assert second.get(digest(1)) == b'"first"'
    assert count_answers(tmp_path / "c.sqlite") == 1


def test_an_answer_survives_the_kill_of_its_process(tmp_path: Path) -> None:
    code = "import os, sys; from pathlib import Path; from pipeline.store.cache import Cache\n"
    code += (
        "c = Cache(Path(sys.argv[1])); [c.put(bytes([n]) * 32, b'%d' % n) for n in range(200)]; os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, tmp_path / "c.sqlite"], check=False).returncode == -9
    cache = Cache(tmp_path / "c.sqlite")
    assert [cache.get(bytes([n]) * 32) for n in range(200)] == [b"%d" % n for n in range(200)]


def test_a_clean_end_leaves_every_answer_in_the_database_file(tmp_path: Path) -> None:
    """A copy of `cache.sqlite` alone has all paid answers, even if no process closed it."""
    code = "import sys, threading; from pathlib import Path; from pipeline.store.cache import Cache\n"
    # A daemon thread keeps a reference to the cache, as a run's loop and clients do.
    code += "c = Cache(Path(sys.argv[1])); [c.put(bytes([n]) * 32, b'%d' % n) for n in range(200)]\n"
    code += "threading.Thread(target=lambda held: threading.Event().wait(), args=(c,), daemon=True).start()"
    second_cache = Cache(tmp_path / "c.sqlite")
    subprocess.run([sys.executable, "-c", code, tmp_path / "c.sqlite"], check=True)
    copied_file = tmp_path / "copy" / "c.sqlite"
    copied_file.parent.mkdir()
    copied_file.write_bytes((tmp_path / "c.sqlite").read_bytes())
    assert count_answers(copied_file) == 200
    second_cache.close()
    assert not (tmp_path / "c.sqlite-wal").exists()


def test_eight_threads_open_and_fill_one_file_together(tmp_path: Path) -> None:
    failures: list[BaseException] = []

    def work(thread: int) -> None:
        try:
            cache = Cache(tmp_path / "c.sqlite")
            for number in range(100):
                assert cache.put(digest(number), b"%d" % thread) == cache.get(digest(number))
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert count_answers(tmp_path / "c.sqlite") == 100


@pytest.mark.parametrize("content", [b"\x93junk" * 4000, b"SQLite format 3\0" + b"\xff" * 9000], ids=["junk", "header"])
def test_garbage_is_refused_in_one_line_that_names_the_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "c.sqlite").write_bytes(content)
    with pytest.raises(StoreError, match=r"c\.sqlite") as caught:
        Cache(tmp_path / "c.sqlite")
    assert "\n" not in str(caught.value)


def test_a_foreign_database_is_left_as_it_is(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "c.sqlite") as db:
        db.execute("CREATE TABLE mine (a)")
    db.close()
    before = (tmp_path / "c.sqlite").read_bytes()
    with pytest.raises(StoreError, match="not a cache of this version"):
        Cache(tmp_path / "c.sqlite")
    assert (tmp_path / "c.sqlite").read_bytes() == before


def test_a_folder_at_the_path_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "c.sqlite").mkdir()
    with pytest.raises(StoreError, match="cannot use"):
        Cache(tmp_path / "c.sqlite")


def test_flipped_bits_give_a_miss_or_an_error_but_never_another_answer(tmp_path: Path, figures: Figures) -> None:
    path = tmp_path / "c.sqlite"
    cache = Cache(path)
    truth = {digest(n): (f'"{n} ' + "answer " * 30 + '"').encode() for n in range(60)}
    for key, value in truth.items():
        cache.put(key, value)
    cache.close()
    intact, rng, outcomes = path.read_bytes(), random.Random(7), {"same": 0, "miss": 0, "line": 0}
    for _ in range(200):
        damaged = bytearray(intact)
        damaged[rng.randrange(len(intact))] ^= 1 << rng.randrange(8)
        for name in ("-wal", "-shm"):
            path.with_name(path.name + name).unlink(missing_ok=True)
        path.write_bytes(damaged)
        try:
            cache = Cache(path)
        except StoreError:
            outcomes["line"] += 1
            continue
        for key, value in truth.items():
            try:
                value_read = cache.get(key)
                assert value_read in (None, value)
                outcomes["same" if value_read else "miss"] += 1
            except StoreError:
                outcomes["line"] += 1
        cache.close()
    assert all(outcomes.values()), outcomes
    figures({"flipped bits": 200}, {"wrong answers": 0})


def test_a_truncated_file_gives_a_miss_or_an_error(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    cache = Cache(path)
    for number in range(200):
        cache.put(digest(number), b"x" * 300)
    cache.close()
    intact = path.read_bytes()
    lines = []
    for length in range(0, len(intact), 1777):
        for name in ("-wal", "-shm"):
            path.with_name(path.name + name).unlink(missing_ok=True)
        path.write_bytes(intact[:length])
        try:
            cache = Cache(path)
            assert cache.get(digest(7)) in (None, b"x" * 300)
            cache.close()
        except StoreError as error:
            lines.append(str(error))
    assert lines
    assert all("c.sqlite" in line for line in lines)


def test_a_full_disk_is_an_error_in_one_line(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "c.sqlite")
    cache._db.execute("PRAGMA max_page_count = 20")

    def fill() -> None:
        for number in range(2000):
            cache.put(digest(number), random.Random(number).randbytes(500))

    with pytest.raises(StoreError, match="disk full"):
        fill()
    assert cache.get(digest(0)) == random.Random(0).randbytes(500)


def test_an_index_that_leads_to_another_row_is_a_miss(tmp_path: Path) -> None:
    cache = Cache(tmp_path / "c.sqlite")
    cache.put(digest(1), b'"one"')
    cache._db.execute("UPDATE answers SET digest = ?", (digest(2),))
    assert cache.get(digest(2)) is None
    assert cache.put(digest(2), b'"two"') == b'"two"' == cache.get(digest(2))


def test_a_worker_whose_answers_were_collected_gets_no_more_answers(tmp_path: Path) -> None:
    cache = BatchCache(tmp_path / "batch.sqlite", tmp_path / "none.sqlite")
    cache.put(digest(1), b"1")
    assert cache.get(digest(1)) == b"1"
    cache.path.unlink()
    with pytest.raises(StoreError, match=r"batch\.sqlite is gone"):
        cache.get(digest(2))
    cache.close()
