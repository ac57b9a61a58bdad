"""How fast and in how much memory `qa` and `sft` are exported, beside what pyarrow alone takes to write the same rows.

    python -m tests.bench.export --records 200000

The records are synthetic and of the size that real ones have in the median. Making them is not counted, nor is reading
them from their journal, which is told apart. pyarrow alone takes the rows, as dicts, to files of the same schema, row
groups and compression. Seconds are the processor's, so that a busy machine changes few figures.
"""

import argparse
import resource
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic_core import to_json

from pipeline.config import RunConfig
from pipeline.export import Selection, export
from pipeline.store.shards import _storage
from pipeline.types import Record, Rollout, sha256
from tests.records import accepted

VIEWS = ("qa", "sft")
MOST_MEMORY, LEAST_SHARE = 1.5 * 2**30, 0.30
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


class Records:
    """A run's records, one at a time; `seconds` is what making them took."""

    def __init__(self, count: int) -> None:
        self.count, self.seconds, self.patterns = count, 0.0, patterns()

    def __iter__(self) -> Iterator[Record]:
        for n in range(self.count):
            start = time.process_time()
            record = self.patterns[n % len(self.patterns)].model_copy(update={"key": sha256(str(n))})
            self.seconds += time.process_time() - start
            yield record


def reading(patterns: list[Record]) -> float:
    """Seconds that one record takes from its line."""
    lines = [record.model_dump_json().encode() for record in patterns]
    start = time.process_time()
    for line in lines:
        Record.model_validate_json(line)
    return (time.process_time() - start) / len(lines)


def rewritten(shards: list[Path], folder: Path) -> tuple[int, float]:
    """Bytes of Arrow, and seconds that pyarrow takes from rows to files."""
    size, seconds = 0, 0.0
    for number, shard in enumerate(shards):
        source = pq.ParquetFile(shard)
        schema = source.schema_arrow
        plain = pa.schema([field.with_type(_storage(field.type)) for field in schema])
        writer = pq.ParquetWriter(folder / f"{number}.parquet", schema, compression="zstd")
        for group in range(source.num_row_groups):
            rows = source.read_row_group(group).to_pylist()
            start = time.process_time()
            made = pa.Table.from_pylist(rows, schema=plain).cast(schema)
            writer.write_table(made, row_group_size=made.num_rows)
            seconds += time.process_time() - start
            size += made.nbytes
        start = time.process_time()
        writer.close()
        seconds += time.process_time() - start
    return size, seconds


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--records", type=int, default=200_000)
    wanted = parser.parse_args().records
    records = Records(wanted)
    line, row = (len(records.patterns[0].model_dump_json()), sum(map(len, _sft(records.patterns[0]))))
    print(f"{wanted:,} records; a journal line has {line:,} letters, a conversation {row:,}")
    with tempfile.TemporaryDirectory() as home:
        start = time.process_time()
        manifest = export(records, Path(home, "ds"), Selection(config=RunConfig(), views=VIEWS))
        ours = time.process_time() - start - records.seconds
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        Path(home, "alone").mkdir()
        size, alone = rewritten([Path(home, "ds", shard.path) for shard in manifest.shards], Path(home, "alone"))
    assert sum(shard.rows for shard in manifest.shards) == 2 * wanted
    share = alone / ours
    print(f"export        {ours:8.1f} s  {size / ours / 2**20:7.1f} MiB/s of Arrow, {wanted / ours:,.0f} records/s")
    print(f"pyarrow alone {alone:8.1f} s  {size / alone / 2**20:7.1f} MiB/s; the export has {share:.0%} of that speed")
    each = reading(records.patterns)
    print(f"reading lines {each * wanted:8.1f} s more, at {each * 1e6:.0f} µs each")
    print(f"memory        {memory / 2**30:8.2f} GiB at most; pyarrow {pa.__version__}")
    kept = share >= LEAST_SHARE and memory <= MOST_MEMORY
    print("kept" if kept else f"BROKEN: at least {LEAST_SHARE:.0%} and at most {MOST_MEMORY / 2**30} GiB")
    return 0 if kept else 1


def _sft(record: Record) -> list[str]:
    return [to_json(message).decode() for message in record.confirmation[0].trajectory.messages]


if __name__ == "__main__":
    raise SystemExit(main())
