"""Estimate what so many pairs take: calls, tokens, the coordinator's hours, disk.

python -m bench.scale                            the table of docs/scale.md
python -m bench.scale --run RUN [--pairs N]      with the calls, tokens and bytes of the pairs of your run
"""

import argparse
import tempfile
from pathlib import Path
from typing import NamedTuple

from bench.common import format_table, load_run
from pipeline.exports.data_set import Selection, export
from pipeline.types import Usage

GIB = 2**30


class PairCosts(NamedTuple):
    """Costs of an accepted pair, rejected seeds included. The defaults are those of docs/scale.md."""

    accepted: float = 13 / 16
    """Share of the seeds."""
    calls: float = 33
    prompt: float = 112_800
    completion: float = 5632
    line: float = 430_000
    """Bytes of a journal line."""
    answer: float = 549
    """Bytes of an answer in the cache."""
    views: float = 207_000
    """Bytes of a pair in all views."""


# Processor seconds in one process, with journal lines of 300 kB.
CALL_SECONDS = 5.8e-3
"""A call with all the work of a worker around it: searches, audits, counts."""
SEED_SECONDS = 5.3e-3
"""A seed planned, journalled and gated, without its calls."""
READ_SECONDS = 3.7e-3
"""A line read and judged again, when a run is opened or exported."""
PASSAGE_SECONDS = 577e-6
"""A passage read and indexed."""
CORPUS_BYTES, INDEX_BYTES = 678, 165
"""Of a passage."""


def build_rows(pairs: int, passages: int, costs: PairCosts) -> list[tuple[str, str, str]]:
    """Return the name, amount and formula of each row."""
    seeds, calls, seed_seconds = pairs / costs.accepted, pairs * costs.calls, SEED_SECONDS + 2 * READ_SECONDS
    return [
        ("seeds", f"{seeds:,.0f}", f"pairs / {costs.accepted:.2f}"),
        ("calls", f"{calls / 1e6:,.0f} million", f"pairs x {costs.calls:,.0f}"),
        ("prompt tokens", f"{pairs * costs.prompt / 1e9:,.0f} billion", f"pairs x {costs.prompt:,.0f}"),
        ("completion tokens", f"{pairs * costs.completion / 1e9:,.1f} billion", f"pairs x {costs.completion:,.0f}"),
        ("workers' hours", f"{calls * CALL_SECONDS / 3600:,.0f}", f"calls x {1e3 * CALL_SECONDS} ms, over all workers"),
        ("coordinator's hours", f"{seeds * seed_seconds / 3600:,.1f}", f"seeds x {1e3 * seed_seconds:.1f} ms"),
        (
            "hours of indexing",
            f"{passages * PASSAGE_SECONDS / 3600:,.1f}",
            f"passages x {1e6 * PASSAGE_SECONDS:.0f} µs",
        ),
        ("corpus", _format_gib(passages * CORPUS_BYTES), f"passages x {CORPUS_BYTES} bytes"),
        ("index", _format_gib(passages * INDEX_BYTES), f"passages x {INDEX_BYTES} bytes"),
        ("journal", _format_gib(seeds * costs.line), f"seeds x {costs.line / 1000:,.0f} kB"),
        ("cache", _format_gib(calls * costs.answer), f"calls x {costs.answer:,.0f} bytes"),
        ("data set, all views", _format_gib(pairs * costs.views), f"pairs x {costs.views / 1000:,.0f} kB"),
    ]


def _format_gib(size: float) -> str:
    return f"{size / GIB:,.0f} GiB"


def measure_run(name: str, out: Path) -> tuple[PairCosts, list[list[str]]]:
    """Return the costs of a pair, and a row for each role."""
    run = load_run(name, out)
    pairs, seeds = len(run.accepted), len(run.records)
    roles: dict[str, Usage] = {}
    for record in run.records:
        for role, usage in record.usage.items():
            roles[role] = roles.get(role, Usage()) + usage
    total = Usage.total(roles.values())
    with tempfile.TemporaryDirectory() as folder:
        shards = export(iter(run.records), Path(folder, "dataset"), Selection(config=run.config)).shards
    rows = [
        [role, *(f"{amount / pairs:,.1f}" for amount in (usage.calls, usage.prompt_tokens, usage.completion_tokens))]
        for role, usage in roles.items()
        if usage.calls
    ]
    return PairCosts(
        accepted=pairs / seeds,
        calls=total.calls / pairs,
        prompt=total.prompt_tokens / pairs,
        completion=total.completion_tokens / pairs,
        line=sum(path.stat().st_size for path in (run.folder / "journal").glob("*.jsonl")) / seeds,
        views=sum(shard.bytes for shard in shards) / pairs,
    ), rows


def format_forecast(pairs: int = 1_000_000, passages: int = 21_000_000, costs: PairCosts | None = None) -> str:
    head = (f"{pairs:,} pairs, {passages:,} passages", "amount", "reckoned as")
    text = format_table(head, build_rows(pairs, passages, costs or PairCosts()))
    return "\n".join(line.rstrip() for line in text.splitlines())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", help="a run of yours")
    parser.add_argument("--out", type=Path, default=Path("outputs"))
    parser.add_argument("--pairs", type=int, default=1_000_000)
    parser.add_argument("--passages", type=int, default=21_000_000)
    options, costs = parser.parse_args(), None
    if options.run:
        costs, rows = measure_run(options.run, options.out)
        print(format_table(("a pair", "calls", "prompt tokens", "completion tokens"), rows), "\n")
    print(format_forecast(options.pairs, options.passages, costs))


if __name__ == "__main__":
    main()
