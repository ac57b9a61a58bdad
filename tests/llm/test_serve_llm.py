"""`make serve-llm` reports in one line what is missing, before it fetches anything."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("script", ["echo 'No devices were found'", "exit 127"])
def test_without_a_gpu_the_message_names_an_alternative(tmp_path: Path, script: str) -> None:
    (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    code, message = run_make(tmp_path, "MODEL=Qwen/Qwen3-8B")
    assert code == 2
    assert "NVIDIA GPU" in message
    assert "--model gguf:" in message


def test_without_a_model_the_message_asks_for_one(tmp_path: Path) -> None:
    code, message = run_make(tmp_path)
    assert code == 2
    assert "which model? make serve-llm MODEL=" in message


def run_make(tools: Path, *variables: str) -> tuple[int, str]:
    """Run make with the tools of a folder and the shell's own; assert that nothing is set up."""
    folder = tools / "serve"
    path = f"{tools}:/usr/bin:/bin"
    command = ["make", "serve-llm", f"SERVE={folder}", *variables]
    process = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False, timeout=60
    )
    lines = [line for line in process.stderr.splitlines() if line.startswith("digsite:")]
    assert len(lines) == 1
    assert not folder.exists()
    return process.returncode, lines[0]
