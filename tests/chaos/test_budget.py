"""A minute of the whole job that a budget of tokens ends: it stops within the calls in flight, and can go on."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from pipeline.run import attempts
from pipeline.types import Usage
from tests.bench.endpoint import simulated, told
from tests.chaos.test_endpoint_process import ROOT, cached

CALLS, SEEDS, TOKENS = 16, 120, 3_000_000
SETTINGS = (
    f"--retriever bm25 --seeds {SEEDS} --no-flow --json --model openai:m --set models.default.limits.concurrency="
    f"{CALLS}"
).split()


def generate(url: str, out: Path, budget: int) -> tuple[int, str, float]:
    command = [sys.executable, "-m", "pipeline.cli", "generate", "factbook", *SETTINGS, "--base-url", url]
    began = time.monotonic()
    more = ["--out", str(out), "--budget-tokens", str(budget)]
    done = subprocess.run([*command, *more], cwd=ROOT, capture_output=True, text=True, check=False, timeout=1200)
    return done.returncode, done.stderr, time.monotonic() - began


@pytest.mark.slow
def test_a_minute_that_a_budget_ends_stops_in_time_and_goes_on(tmp_path: Path) -> None:
    with simulated(0.5) as url:
        code, said, seconds = generate(url, tmp_path, TOKENS)
        paid, answered = usage(tmp_path), told(url, "stats")["answered"]
        assert code == 3, said
        assert "--budget-tokens" in said
        assert (answered, paid.calls) == (cached(tmp_path),) * 2
        tokens = paid.prompt_tokens + paid.completion_tokens
        # No call began once the budget was used up, and none of these is longer than 40,000 tokens.
        assert TOKENS <= tokens <= TOKENS + CALLS * 40_000
        assert generate(url, tmp_path, TOKENS)[0] == 3
        assert told(url, "stats")["answered"] == answered
        code, said, more = generate(url, tmp_path, 100 * TOKENS)
        assert code == 0, said
        assert told(url, "stats")["answered"] == usage(tmp_path).calls == cached(tmp_path)
    over = tokens - TOKENS
    print(f"stopped after {seconds:.0f} s and {answered} calls, {over} tokens over {TOKENS}; went on for {more:.0f} s")


def usage(out: Path) -> Usage:
    (folder,) = {path.resolve() for path in out.glob("factbook/latest")}
    return attempts.spent(folder).total.paid
