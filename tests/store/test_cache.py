"""What was put is what is got, or a miss, or one line that names the file."""

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


def kept(path: Path) -> int:
    """How many answers the file holds."""
    return int(sqlite3.connect(path).execute("SELECT count(*) FROM answers").fetchone()[0])


def test_the_first_answer_stands_for_everyone(tmp_path: Path) -> None:
    one, two = Cache(tmp_path / "c.sqlite"), Cache(tmp_path / "c.sqlite")
    assert one.get(digest(1)) is None
    assert one.put(digest(1), b'"first"') == b'"first"'
    assert two.put(digest(1), b'"second"') == b'"first"'
    assert two.get(digest(1)) == b'"first"'
    assert kept(tmp_path / "c.sqlite") == 1


def test_an_answer_survives_the_kill_of_its_process(tmp_path: Path) -> None:
    code = "import os, sys; from pathlib import Path; from pipeline.store.cache import Cache\n"
    code += (
        "c = Cache(Path(sys.argv[1])); [c.put(bytes([n]) * 32, b'%d' % n) for n in range(200)]; os.kill(os.getpid(), 9)"
    )
    assert subprocess.run([sys.executable, "-c", code, tmp_path / "c.sqlite"], check=False).returncode == -9
    cache = Cache(tmp_path / "c.sqlite")
    assert [cache.get(bytes([n]) * 32) for n in range(200)] == [b"%d" % n for n in range(200)]


def test_a_clean_end_leaves_every_answer_in_the_file_itself(tmp_path: Path) -> None:
    """Whoever copies `cache.sqlite` alone takes all that was paid for, also where nobody closed it."""
    code = "import sys, threading; from pathlib import Path; from pipeline.store.cache import Cache\n"
    # A thread that lives to the end holds the cache, as a run's loop and its clients do.
    code += "c = Cache(Path(sys.argv[1])); [c.put(bytes([n]) * 32, b'%d' % n) for n in range(200)]\n"
    code += "threading.Thread(target=lambda held: threading.Event().wait(), args=(c,), daemon=True).start()"
    other = Cache(tmp_path / "c.sqlite")
    subprocess.run([sys.executable, "-c", code, tmp_path / "c.sqlite"], check=True)
    alone = tmp_path / "copy" / "c.sqlite"
    alone.parent.mkdir()
    alone.write_bytes((tmp_path / "c.sqlite").read_bytes())
    assert kept(alone) == 200
    other.close()
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
    assert kept(tmp_path / "c.sqlite") == 100


@pytest.mark.parametrize("content", [b"\x93junk" * 4000, b"SQLite format 3\0" + b"\xff" * 9000], ids=["junk", "header"])
def test_garbage_is_one_line_that_names_the_file(tmp_path: Path, content: bytes) -> None:
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


def test_a_folder_in_the_way_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "c.sqlite").mkdir()
    with pytest.raises(StoreError, match="cannot use"):
        Cache(tmp_path / "c.sqlite")


def test_flipped_bytes_give_a_miss_or_a_line_but_never_another_answer(tmp_path: Path, figures: Figures) -> None:
    path = tmp_path / "c.sqlite"
    cache = Cache(path)
    truth = {digest(n): (f'"{n} ' + "answer " * 30 + '"').encode() for n in range(60)}
    for key, value in truth.items():
        cache.put(key, value)
    cache.close()
    whole, chance, seen = path.read_bytes(), random.Random(7), {"same": 0, "miss": 0, "line": 0}
    for _ in range(200):
        damaged = bytearray(whole)
        damaged[chance.randrange(len(whole))] ^= 1 << chance.randrange(8)
        for name in ("-wal", "-shm"):
            path.with_name(path.name + name).unlink(missing_ok=True)
        path.write_bytes(damaged)
        try:
            cache = Cache(path)
        except StoreError:
            seen["line"] += 1
            continue
        for key, value in truth.items():
            try:
                got = cache.get(key)
                assert got in (None, value)
                seen["same" if got else "miss"] += 1
            except StoreError:
                seen["line"] += 1
        cache.close()
    assert all(seen.values()), seen
    figures({"flipped bits": 200}, {"wrong answers": 0})


def test_a_truncated_file_is_a_miss_or_a_line(tmp_path: Path) -> None:
    path = tmp_path / "c.sqlite"
    cache = Cache(path)
    for number in range(200):
        cache.put(digest(number), b"x" * 300)
    cache.close()
    whole = path.read_bytes()
    lines = []
    for length in range(0, len(whole), 1777):
        for name in ("-wal", "-shm"):
            path.with_name(path.name + name).unlink(missing_ok=True)
        path.write_bytes(whole[:length])
        try:
            cache = Cache(path)
            assert cache.get(digest(7)) in (None, b"x" * 300)
            cache.close()
        except StoreError as error:
            lines.append(str(error))
    assert lines
    assert all("c.sqlite" in line for line in lines)


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
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


def test_a_worker_whose_answers_were_taken_pays_for_no_more(tmp_path: Path) -> None:
    cache = BatchCache(tmp_path / "batch.sqlite", tmp_path / "none.sqlite")
    cache.put(digest(1), b"1")
    assert cache.get(digest(1)) == b"1"
    cache.path.unlink()
    with pytest.raises(StoreError, match=r"batch\.sqlite is gone"):
        cache.get(digest(2))
    cache.close()
