"""A minute of the whole job that a budget of tokens ends: it stops within the calls in flight, and can go on."""

import sqlite3
import subprocess
import sys
import time
from itertools import accumulate
from pathlib import Path

import pytest
import zstandard

from pipeline.llm.base import Completion
from pipeline.run import attempts
from pipeline.types import Usage
from tests.chaos.command import ROOT
from tests.simulated_endpoint import get_json, run_endpoints

CALLS, SEEDS, TOKENS = 16, 300, 12_000_000
SETTINGS = (
    f"--retriever bm25 --seeds {SEEDS} --no-flow --json --model openai:m --set models.default.limits.concurrency="
    f"{CALLS}"
).split()


def generate(url: str, out: Path, budget: int) -> tuple[int, str, float]:
    command = [sys.executable, "-m", "pipeline.cli", "generate", "wiki", *SETTINGS, "--base-url", url]
    began = time.monotonic()
    more = ["--out", str(out), "--budget-tokens", str(budget)]
    done = subprocess.run([*command, *more], cwd=ROOT, capture_output=True, text=True, check=False, timeout=1200)
    return done.returncode, done.stderr, time.monotonic() - began


@pytest.mark.slow
def test_a_minute_that_a_budget_ends_stops_in_time_and_goes_on(tmp_path: Path) -> None:
    with run_endpoints(0.5) as url:
        code, said, seconds = generate(url, tmp_path, TOKENS)
        paid, answered = usage(tmp_path), get_json(url, "stats")["answered"]
        assert code == 3, said
        assert "--budget-tokens" in said
        assert (answered, paid.calls) == (len(sizes(tmp_path)),) * 2
        assert seconds >= 60
        # The answers are kept in the order in which they came: those after the last that the budget paid for were
        # under way when it was used up.
        late = sum(used > TOKENS for used in accumulate(sizes(tmp_path))) - 1
        assert 0 <= late < CALLS
        assert generate(url, tmp_path, TOKENS)[0] == 3
        assert get_json(url, "stats")["answered"] == answered
        code, said, more = generate(url, tmp_path, 100 * TOKENS)
        assert code == 0, said
        assert get_json(url, "stats")["answered"] == usage(tmp_path).calls == len(sizes(tmp_path))
    print(f"stopped after {seconds:.0f} s and {answered} calls, {late} of them under way; went on for {more:.0f} s")


def sizes(out: Path) -> list[int]:
    """The tokens of every answer in the cache, in the order of their coming."""
    with sqlite3.connect(out / "cache.sqlite") as base:
        kept = [value for (value,) in base.execute("SELECT value FROM answers ORDER BY rowid")]
    base.close()
    # A digest's beginning stands before each.
    read = zstandard.ZstdDecompressor().decompress
    found = [Completion.model_validate_json(read(value[8:])).usage for value in kept]
    return [usage.prompt_tokens + usage.completion_tokens for usage in found]


def usage(out: Path) -> Usage:
    (folder,) = {path.resolve() for path in out.glob("wiki/latest")}
    return attempts.total_spending(folder).total.paid
