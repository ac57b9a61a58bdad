"""How fast and in how much memory `qa` and `sft` are exported, beside what pyarrow alone takes to write the same rows.

    python -m bench.export --records 200000

The records are synthetic and of the size that real ones have in the median. Making them is not counted, nor is reading
them from their journal, which is told apart. pyarrow alone takes the rows, as dicts, to files of the same schema, row
groups and compression: what `from_pylist`, `cast` and `write_table` do in one thread. The export may use a second core,
on which it compresses; so the speed that counts is by the clock, as a user waits, and the processor's seconds of all
threads are told beside it. A busy machine takes that core away: both are measured one right after the other, a few
times over, and the median share is judged.
"""

import argparse
import os
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic_core import to_json

from pipeline.config import RunConfig
from pipeline.dataset.export import Selection, export
from pipeline.dataset.shards import _storage
from pipeline.types import Record, Rollout, sha256
from tests.records import accepted

VIEWS = ("qa", "sft")
MOST_MEMORY, LEAST_SHARE = 1.5 * 2**30, 0.30
BATCH = 20
"""Records made at once, since to read the clock takes a while."""
OBSERVATION = 2400
"""Letters of a real search's observation (five passages), in the median."""
WORDS = (
    "the of river bridge built town over in stone north century market designed opened route iron valley old".split()
)


def padded(rollout: Rollout, salt: int) -> Rollout:
    """With observations of real length."""
    messages = []
    for place, message in enumerate(rollout.trajectory.messages):
        if message.role == "tool":
            more = " ".join(
                WORDS[(salt * 31 + place * 17 + i * (i + salt)) % len(WORDS)] for i in range(OBSERVATION // 6)
            )
            messages.append(message.model_copy(update={"content": f"{message.content} {more}"}))
        else:
            messages.append(message)
    trajectory = rollout.trajectory.model_copy(update={"messages": tuple(messages)})
    return rollout.model_copy(update={"trajectory": trajectory})


def patterns(count: int = 200) -> list[Record]:
    made = []
    for n in range(count):
        record = accepted(n)
        rounds = tuple(
            past.model_copy(update={"rollouts": tuple(padded(rollout, n) for rollout in past.rollouts)})
            for past in record.rounds
        )
        confirmation = tuple(padded(rollout, n) for rollout in record.confirmation)
        made.append(record.model_copy(update={"rounds": rounds, "confirmation": confirmation}))
    return made


class Stopwatch:
    """Adds up the seconds of its contexts: by the clock, and of the processor."""

    def __init__(self, processor: Callable[[], float] = time.process_time) -> None:
        self.wall = self.cpu = 0.0
        self._processor = processor

    def __enter__(self) -> Self:
        self._since = time.perf_counter(), self._processor()
        return self

    def __exit__(self, *_: object) -> None:
        self.wall += time.perf_counter() - self._since[0]
        self.cpu += self._processor() - self._since[1]


class Records:
    """A run's records, one at a time; `making` is what they took."""

    def __init__(self, count: int) -> None:
        # Of this thread only: the export's other one is at work meanwhile.
        self.count, self.making, self.patterns = count, Stopwatch(time.thread_time), patterns()

    def __iter__(self) -> Iterator[Record]:
        for start in range(0, self.count, BATCH):
            with self.making:
                made = [self._made(n) for n in range(start, min(start + BATCH, self.count))]
            yield from made

    def _made(self, n: int) -> Record:
        return self.patterns[n % len(self.patterns)].model_copy(update={"key": sha256(str(n))})


def reading(patterns: list[Record]) -> float:
    """Seconds that one record takes from its line."""
    lines = [record.model_dump_json().encode() for record in patterns]
    start = time.process_time()
    for line in lines:
        Record.model_validate_json(line)
    return (time.process_time() - start) / len(lines)


def exported(records: Records, folder: Path) -> tuple[list[Path], Stopwatch]:
    """The shards, and what they took without the making of their records."""
    records.making = Stopwatch(time.thread_time)
    with Stopwatch() as ours:
        manifest = export(records, folder, Selection(config=RunConfig(), views=VIEWS))
    assert sum(shard.rows for shard in manifest.shards) == 2 * records.count
    ours.wall -= records.making.wall
    ours.cpu -= records.making.cpu
    return [folder / shard.path for shard in manifest.shards], ours


def rewritten(shards: list[Path], folder: Path) -> tuple[int, Stopwatch]:
    """Bytes of Arrow, and what pyarrow takes from rows to files."""
    size, alone = 0, Stopwatch()
    for number, shard in enumerate(shards):
        source = pq.ParquetFile(shard)
        schema = source.schema_arrow
        plain = pa.schema([field.with_type(_storage(field.type)) for field in schema])
        writer = pq.ParquetWriter(folder / f"{number}.parquet", schema, compression="zstd")
        for group in range(source.num_row_groups):
            rows = source.read_row_group(group).to_pylist()
            with alone:
                made = pa.Table.from_pylist(rows, schema=plain).cast(schema)
                writer.write_table(made, row_group_size=made.num_rows)
            size += made.nbytes
        with alone:
            writer.close()
    return size, alone


def compared(records: Records) -> tuple[float, float]:
    """The share of pyarrow's own speed by the clock, and the most memory so far without what pyarrow took."""
    with tempfile.TemporaryDirectory() as home:
        shards, ours = exported(records, Path(home, "ds"))
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        Path(home, "alone").mkdir()
        size, alone = rewritten(shards, Path(home, "alone"))
    share, load = alone.wall / ours.wall, os.getloadavg()[0]
    for name, took in (("export", ours), ("pyarrow alone", alone)):
        rates = f"{size / took.wall / 2**20:7.1f} MiB/s of Arrow, {records.count / took.wall:8,.0f} records/s"
        print(f"{name:13} {took.wall:7.1f} s  {rates}; {took.cpu:6.1f} s of the processor")
    print(f"              {share:.1%} of pyarrow's speed; {alone.cpu / ours.cpu:.1%} by the processor; load {load:.1f}")
    return share, memory


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=200_000)
    parser.add_argument("--times", type=int, default=3)
    asked = parser.parse_args()
    records = Records(asked.records)
    line, row = (len(records.patterns[0].model_dump_json()), sum(map(len, _sft(records.patterns[0]))))
    print(f"{asked.records:,} records; a journal line has {line:,} letters, a conversation {row:,}")
    # Arrow looks for pandas, and imports it, when it first converts something: a third of a second of neither side.
    pa.array([""])
    found = [compared(records) for _ in range(asked.times)]
    # The first: later ones would count what pyarrow alone held in between.
    share, memory = statistics.median(share for share, _ in found), found[0][1]
    each = reading(records.patterns)
    print(f"reading lines {each * asked.records:7.1f} s more, at {each * 1e6:.0f} µs each")
    print(f"memory        {memory / 2**30:7.2f} GiB at most; pyarrow {pa.__version__}")
    kept = share >= LEAST_SHARE and memory <= MOST_MEMORY
    wanted = f"at least {LEAST_SHARE:.0%} and at most {MOST_MEMORY / 2**30} GiB"
    print(f"{share:.1%} of pyarrow's speed in the median: {'kept' if kept else f'BROKEN: {wanted}'}")
    return 0 if kept else 1


def _sft(record: Record) -> list[str]:
    return [to_json(message).decode() for message in record.confirmation[0].trajectory.messages]


if __name__ == "__main__":
    raise SystemExit(main())
