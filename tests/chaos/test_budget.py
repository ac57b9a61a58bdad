"""A token budget stops a run within the calls in flight, and a higher budget resumes it."""

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
    start = time.monotonic()
    options = ["--out", str(out), "--budget-tokens", str(budget)]
    process = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, check=False, timeout=1200)
    return process.returncode, process.stderr, time.monotonic() - start


@pytest.mark.slow
def test_a_used_up_budget_stops_the_run_in_time_and_a_higher_one_resumes_it(tmp_path: Path) -> None:
    with run_endpoints(0.5) as url:
        code, stderr, seconds = generate(url, tmp_path, TOKENS)
        paid, answered = read_usage(tmp_path), get_json(url, "stats")["answered"]
        assert code == 3, stderr
        assert "--budget-tokens" in stderr
        assert (answered, paid.calls) == (len(read_answer_sizes(tmp_path)),) * 2
        assert seconds >= 60
        # The cache stores answers in order of arrival. Those after the last one within the budget were in flight
        # when it was used up.
        late = sum(used > TOKENS for used in accumulate(read_answer_sizes(tmp_path))) - 1
        assert 0 <= late < CALLS
        assert generate(url, tmp_path, TOKENS)[0] == 3
        assert get_json(url, "stats")["answered"] == answered
        code, stderr, resumed_seconds = generate(url, tmp_path, 100 * TOKENS)
        assert code == 0, stderr
        assert get_json(url, "stats")["answered"] == read_usage(tmp_path).calls == len(read_answer_sizes(tmp_path))
    print(f"stopped after {seconds:.0f} s, {answered} calls, {late} of them late; resumed for {resumed_seconds:.0f} s")


def read_answer_sizes(out: Path) -> list[int]:
    """Return the tokens of every answer in the cache, in order of arrival."""
    with sqlite3.connect(out / "cache.sqlite") as database:
        values = [value for (value,) in database.execute("SELECT value FROM answers ORDER BY rowid")]
    database.close()
    # Each value starts with eight bytes of a digest.
    decompress = zstandard.ZstdDecompressor().decompress
    usages = [Completion.model_validate_json(decompress(value[8:])).usage for value in values]
    return [usage.prompt_tokens + usage.completion_tokens for usage in usages]


def read_usage(out: Path) -> Usage:
    (folder,) = {path.resolve() for path in out.glob("wiki/latest")}
    return attempts.total_spending(folder).total.paid
