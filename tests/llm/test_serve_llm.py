"""`make serve-llm` where it cannot work: one line, before anything is fetched."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("seen", ["echo 'No devices were found'", "exit 127"])
def test_without_a_gpu_it_says_what_to_do_instead(tmp_path: Path, seen: str) -> None:
    (tmp_path / "nvidia-smi").write_text(f"#!/bin/sh\n{seen}\n")
    (tmp_path / "nvidia-smi").chmod(0o755)
    code, said = made(tmp_path, "MODEL=Qwen/Qwen3-8B")
    assert code == 2
    assert "NVIDIA GPU" in said
    assert "--model gguf:" in said


def test_without_a_model_it_asks_which(tmp_path: Path) -> None:
    code, said = made(tmp_path)
    assert code == 2
    assert "which model? make serve-llm MODEL=" in said


def made(tools: Path, *more: str) -> tuple[int, str]:
    """With the shell's own tools and those of a folder; nothing may be set up."""
    folder = tools / "serve"
    path = f"{tools}:/usr/bin:/bin"
    command = ["make", "serve-llm", f"SERVE={folder}", *more]
    done = subprocess.run(
        command, cwd=ROOT, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False, timeout=60
    )
    lines = [line for line in done.stderr.splitlines() if line.startswith("digsite:")]
    assert len(lines) == 1
    assert not folder.exists()
    return done.returncode, lines[0]
