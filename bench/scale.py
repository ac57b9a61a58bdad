"""What so many pairs take: calls, tokens, the coordinator's hours, disk.

    python -m bench.scale                            the table of docs/scale.md
    python -m bench.scale --run RUN [--pairs N]      with what the pairs of a run of yours took

Calls, tokens by role, bytes of a line and of a pair in all views are then those of the run.
"""

import argparse
import tempfile
from pathlib import Path
from typing import NamedTuple

from bench.common import load_run, table
from pipeline.exports.data_set import Selection, export
from pipeline.types import Usage

GIB = 2**30


class Measured(NamedTuple):
    """Of an accepted pair, what was rejected included; the defaults are those of docs/scale.md."""

    yield_: float = 13 / 16
    """Accepted of the seeds."""
    calls: float = 33
    prompt: float = 112_800
    completion: float = 5632
    line: float = 430_000
    """Bytes of a journal line."""
    answer: float = 549
    """Bytes of an answer in the cache."""
    views: float = 207_000
    """Bytes of a pair in all views."""


class Costs(NamedTuple):
    """Seconds of the processor in one process, with lines of 300 kB, and bytes of a passage in corpus and index."""

    call: float = 5.8e-3
    """With all that a worker does beside it: searching, auditing, counting."""
    seed: float = 5.3e-3
    """Planned, journalled and gated, without its calls."""
    read: float = 3.7e-3
    """A line read and judged again, by an opening or an export."""
    document: float = 577e-6
    """Read and indexed."""
    per_corpus: float = 678
    per_index: float = 165


def forecast(pairs: int, passages: int, found: Measured, costs: Costs) -> list[list[str]]:
    """Rows: what, how much, how it is reckoned."""
    seeds, calls = pairs / found.yield_, pairs * found.calls
    seed = costs.seed + 2 * costs.read
    rows = [
        ("seeds", f"{seeds:,.0f}", f"pairs / {found.yield_:.2f}"),
        ("calls", f"{calls / 1e6:,.0f} million", f"pairs x {found.calls:,.0f}"),
        ("prompt tokens", f"{pairs * found.prompt / 1e9:,.0f} billion", f"pairs x {found.prompt:,.0f}"),
        ("completion tokens", f"{pairs * found.completion / 1e9:,.1f} billion", f"pairs x {found.completion:,.0f}"),
        ("workers' hours", f"{calls * costs.call / 3600:,.0f}", f"calls x {1e3 * costs.call:.1f} ms, over all workers"),
        ("coordinator's hours", f"{seeds * seed / 3600:,.1f}", f"seeds x {1e3 * seed:.1f} ms"),
        ("hours of indexing", f"{passages * costs.document / 3600:,.1f}", f"passages x {1e6 * costs.document:.0f} µs"),
        ("corpus", _size(passages * costs.per_corpus), f"passages x {costs.per_corpus:.0f} bytes"),
        ("index", _size(passages * costs.per_index), f"passages x {costs.per_index:.0f} bytes"),
        ("journal", _size(seeds * found.line), f"seeds x {found.line / 1000:,.0f} kB"),
        ("cache", _size(calls * found.answer), f"calls x {found.answer:,.0f} bytes"),
        ("data set, all views", _size(pairs * found.views), f"pairs x {found.views / 1000:,.0f} kB"),
    ]
    return [list(row) for row in rows]


def _size(size: float) -> str:
    return f"{size / GIB:,.0f} GiB"


def measure_run(run: str, out: Path) -> tuple[Measured, list[list[str]]]:
    """Of a pair, and the rows of its roles."""
    made = load_run(run, out)
    pairs, seeds = len(made.accepted), len(made.records)
    roles: dict[str, Usage] = {}
    for record in made.records:
        for role, usage in record.usage.items():
            roles[role] = roles.get(role, Usage()) + usage
    whole = Usage.total(roles.values())
    with tempfile.TemporaryDirectory() as folder:
        shards = export(iter(made.records), Path(folder, "dataset"), Selection(config=made.config)).shards
    rows = [
        [role, *(f"{amount / pairs:,.1f}" for amount in (usage.calls, usage.prompt_tokens, usage.completion_tokens))]
        for role, usage in roles.items()
        if usage.calls
    ]
    return Measured(
        yield_=pairs / seeds,
        calls=whole.calls / pairs,
        prompt=whole.prompt_tokens / pairs,
        completion=whole.completion_tokens / pairs,
        line=sum(path.stat().st_size for path in (made.folder / "journal").glob("*.jsonl")) / seeds,
        views=sum(shard.bytes for shard in shards) / pairs,
    ), rows


def format_forecast(options: argparse.Namespace, found: Measured = Measured()) -> str:  # noqa: B008 - frozen
    """The table, as it stands in docs/scale.md."""
    rows = forecast(options.pairs, options.passages, found, Costs())
    text = table((f"{options.pairs:,} pairs, {options.passages:,} passages", "amount", "reckoned as"), rows)
    return "\n".join(line.rstrip() for line in text.splitlines())


def main(options: argparse.Namespace) -> None:
    found = Measured()
    if options.run:
        found, roles = measure_run(options.run, options.out)
        print(table(("a pair", "calls", "prompt tokens", "completion tokens"), roles), "\n")
    print(format_forecast(options, found))


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--run", help="of yours")
    made.add_argument("--out", type=Path, default=Path("outputs"))
    made.add_argument("--pairs", type=int, default=1_000_000)
    made.add_argument("--passages", type=int, default=21_000_000)
    return made


if __name__ == "__main__":
    main(parser().parse_args())
