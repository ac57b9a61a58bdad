"""A group is written while the next is made: the bytes stay the same, errors are raised, and no thread is left."""

import errno
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipeline.errors import StoreError
from pipeline.exports import shards
from pipeline.exports.shards import ShardFile, ShardWriter
from pipeline.store.files import atomic_folder

SCHEMA = pa.schema([("n", pa.int64()), ("text", pa.string())])
ROWS = [{"n": n, "text": f"row {n}" * 40} for n in range(57)]
GROUP = 5


@pytest.fixture(autouse=True)
def small_groups(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(shards, "GROUP_ROWS", GROUP)
    monkeypatch.setattr(shards, "FIRST_ROWS", GROUP)
    yield
    assert list_writer_threads() == []


def list_writer_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("shards")]


def fill(folder: Path, rows: list[dict[str, Any]], shard_bytes: int = 1 << 20) -> list[ShardFile]:
    with atomic_folder(folder) as building, ShardWriter(building, shard_bytes) as writer:
        for n, row in enumerate(rows):
            writer.add("view", "train" if n % 3 else "eval", SCHEMA, [row])
        return writer.close()


class Disk:
    """`write_table` that fails from the `good`-th group on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, good: int) -> None:
        self.left, self.write, self.where = good, pq.ParquetWriter.write_table, set[str]()

        def write_table(*args: Any, **fields: Any) -> None:
            self.take()
            self.write(*args, **fields)

        monkeypatch.setattr(pq.ParquetWriter, "write_table", write_table)

    def take(self) -> None:
        self.where.add(threading.current_thread().name)
        self.left -= 1
        if self.left < 0:
            raise OSError(errno.ENOSPC, "No space left on device")


def test_the_bytes_are_those_of_writing_groups_in_turn(tmp_path: Path) -> None:
    shard_files = fill(tmp_path / "ds", ROWS)
    assert [(shard.path, shard.rows) for shard in shard_files] == [
        ("view/eval-00000-of-00001.parquet", 19),
        ("view/train-00000-of-00001.parquet", 38),
    ]
    train = [row for n, row in enumerate(ROWS) if n % 3]
    with pq.ParquetWriter(tmp_path / "plain", SCHEMA, compression="zstd") as writer:
        for start in range(0, len(train), GROUP):
            writer.write_table(pa.Table.from_pylist(train[start : start + GROUP], schema=SCHEMA))
    assert (tmp_path / "ds" / shard_files[1].path).read_bytes() == (tmp_path / "plain").read_bytes()


def test_a_shard_ends_when_it_is_large_enough(tmp_path: Path) -> None:
    shard_files = [shard for shard in fill(tmp_path / "ds", ROWS, shard_bytes=1) if shard.split == "train"]
    assert [shard.rows for shard in shard_files] == [5, 5, 5, 5, 5, 5, 5, 3]
    rows = [row for shard in shard_files for row in pq.read_table(tmp_path / "ds" / shard.path).to_pylist()]
    assert rows == [row for n, row in enumerate(ROWS) if n % 3]


def test_a_groups_number_of_rows_follows_from_the_size_of_the_previous_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shards, "GROUP_ROWS", 50)
    monkeypatch.setattr(shards, "GROUP_BYTES", 10_000)
    sizes = [1000] * 40 + [5000] * 20 + [1_000_000] + [10] * 120
    with ShardWriter(tmp_path, 1 << 30) as writer:
        writer.add("view", "train", SCHEMA, ({"n": n, "text": "x" * size} for n, size in enumerate(sizes)))
        [shard] = writer.close()
    file = pq.ParquetFile(tmp_path / shard.path)
    rows = [file.read_row_group(group).to_pylist() for group in range(file.num_row_groups)]
    assert [row["n"] for group in rows for row in group] == list(range(len(sizes)))
    lengths = [[len(row["text"]) for row in group] for group in rows]
    assert max(sum(size for size in sizes if size < 1_000_000) for sizes in lengths) <= 3 * 10_000
    assert max(map(len, lengths)) == 50, "small rows fill groups again"


@pytest.mark.parametrize("good", range(12))
def test_a_full_disk_is_reported_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, good: int) -> None:
    """Fail at each group: one in the middle, or one of the last, which only `close` writes."""
    fill(tmp_path / "ds", ROWS[:1])
    disk = Disk(monkeypatch, good)
    with pytest.raises(StoreError, match="disk full"):
        fill(tmp_path / "ds", ROWS)
    assert all(name.startswith("shards") for name in disk.where)
    assert [path.name for path in tmp_path.iterdir()] == ["ds"]
    assert [path.name for path in (tmp_path / "ds").rglob("*.parquet")] == ["eval-00000-of-00001.parquet"]


def test_an_error_is_raised_with_the_next_group(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Disk(monkeypatch, 0)
    with ShardWriter(tmp_path, 1 << 20) as writer:
        writer.add("view", "train", SCHEMA, ROWS[:GROUP])
        with pytest.raises(OSError, match="No space"):
            writer.add("view", "train", SCHEMA, ROWS[GROUP : 2 * GROUP])


def test_an_error_of_the_rows_waits_for_the_writer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the folder would be removed under the writer, which could make it again."""
    started, write = threading.Event(), pq.ParquetWriter.write_table

    def slow(*args: Any, **fields: Any) -> None:
        started.set()
        time.sleep(0.1)
        write(*args, **fields)

    def make_broken_rows() -> Iterator[dict[str, Any]]:
        yield from ROWS[:GROUP]
        assert started.wait(5)
        raise RuntimeError("kill")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", slow)
    with (
        pytest.raises(RuntimeError, match="kill"),
        atomic_folder(tmp_path / "ds") as building,
        ShardWriter(building, 1 << 20) as writer,
    ):
        writer.add("view", "train", SCHEMA, make_broken_rows())
    assert list(tmp_path.iterdir()) == []


def test_one_group_is_written_while_the_next_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    free, written, write = threading.Event(), list[int](), pq.ParquetWriter.write_table

    def slow(*args: Any, **fields: Any) -> None:
        assert free.wait(5)
        write(*args, **fields)
        written.append(len(written))

    monkeypatch.setattr(pq.ParquetWriter, "write_table", slow)
    with ShardWriter(tmp_path, 1 << 20) as writer:
        writer.add("view", "train", SCHEMA, ROWS[:GROUP])
        assert written == []
        threading.Timer(0.05, free.set).start()
        writer.add("view", "train", SCHEMA, ROWS[GROUP : 2 * GROUP])
        assert 0 in written
        assert [shard.rows for shard in writer.close()] == [2 * GROUP]
    assert written == [0, 1]


def test_rows_are_counted_within_each_length_over_all_groups_and_shards(tmp_path: Path) -> None:
    schema = pa.schema([("tokens", pa.int32()), ("text", pa.string())])
    sizes = [8_192] * 7 + [8_193] * 6 + [16_384, 32_768, 32_769]
    with atomic_folder(tmp_path / "ds") as building, ShardWriter(building, 2_000) as writer:
        writer.add("view", "train", schema, [{"tokens": size, "text": "x" * 200} for size in sizes])
        shard_files = writer.close()
    assert len(shard_files) > 1
    assert [sum(counts) for counts in zip(*(shard.within for shard in shard_files), strict=True)] == [7, 14, 15]
    assert {shard.within for shard in fill(tmp_path / "other", ROWS)} == {()}
