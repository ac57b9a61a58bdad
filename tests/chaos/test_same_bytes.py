"""The same command gives the same journal and data set, in any order of sets, tasks and completion.

This runs the full command with the demo model, so it fails if any part of an episode depends on chance.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pipeline.store.journal import Journal, encode
from tests.cli.conftest import run_well
from tests.conftest import Figures

ROOT = Path(__file__).parents[2]
SEEDS = 6


def arguments(out: Path, concurrency: int) -> list[str]:
    command = "generate tiny --no-flow --retriever bm25".split()
    return [*command, "--seeds", str(SEEDS), "--concurrency", str(concurrency), "--out", str(out)]


def generate(out: Path, hash_seed: str, concurrency: int) -> dict[str, bytes]:
    command = [sys.executable, "-m", "pipeline.cli", *arguments(out, concurrency)]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    process = subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert process.returncode == 0, process.stderr
    return read_output(out)


def read_output(out: Path) -> dict[str, bytes]:
    """Return the journal's lines by key, and the bytes of every shard and of the table of seeds."""
    folder = (out / "tiny" / "latest").resolve()
    journal = Journal(folder / "journal")
    lines = {key: encode(entry.head, journal.read(key)) for key, entry in journal.entries.items()}
    shards = sorted((folder / "dataset").glob("**/*.parquet"))
    return lines | {path.relative_to(folder).as_posix(): path.read_bytes() for path in shards}


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """Generate in this process, whose hash seed is any, one task after the other."""
    out = tmp_path_factory.mktemp("reference")
    run_well(*arguments(out, 1))
    files = read_output(out)
    assert len([name for name in files if "/" not in name]) == SEEDS
    return files


@pytest.mark.parametrize(
    ("hash_seed", "concurrency"),
    [
        ("1", 64),
        *(pytest.param(seed, n, marks=pytest.mark.chaos) for seed in ("0", "1", "random") for n in (1, 8, 64)),
    ],
)
def test_neither_hash_order_nor_concurrency_changes_a_byte(
    tmp_path: Path, reference: dict[str, bytes], figures: Figures, hash_seed: str, concurrency: int
) -> None:
    again = generate(tmp_path, hash_seed, concurrency)
    figures({"runs": 1, "seeds": SEEDS}, {"other bytes": 0})
    assert again.keys() == reference.keys()
    assert [name for name in again if again[name] != reference[name]] == []
