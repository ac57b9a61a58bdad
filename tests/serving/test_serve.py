"""Each model family gets its parsers, and the server listens on the loopback only."""

import subprocess
import sys
from pathlib import Path

import pytest

from serving.serve import arguments, family

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("model", "tools", "reasoning"),
    [
        ("Qwen/Qwen3-8B", "hermes", "qwen3"),
        ("Qwen/Qwen3-30B-A3B-Instruct-2507", "hermes", ""),
        ("Qwen/Qwen3-Coder-30B-A3B-Instruct", "qwen3_coder", ""),
        ("Qwen/Qwen2.5-7B-Instruct", "hermes", ""),
        ("meta-llama/Llama-3.1-8B-Instruct", "llama3_json", ""),
        ("meta-llama/Llama-4-Scout-17B-16E-Instruct", "llama4_pythonic", ""),
        ("mistralai/Mistral-Small-3.2-24B-Instruct-2506", "mistral", ""),
        ("deepseek-ai/DeepSeek-R1-0528", "deepseek_v3", "deepseek_r1"),
        ("deepseek-ai/DeepSeek-V3.1", "deepseek_v31", "deepseek_v3"),
        ("openai/gpt-oss-20b", "openai", "openai_gptoss"),
        ("zai-org/GLM-4.6", "glm45", "glm45"),
        ("moonshotai/Kimi-K2-Instruct", "kimi_k2", "kimi_k2"),
    ],
)
def test_each_family_has_its_parsers(model: str, tools: str, reasoning: str) -> None:
    parsers = family(model)
    assert parsers is not None
    assert (parsers.tools, parsers.reasoning) == (tools, reasoning)


def test_what_is_said_wins_and_the_loopback_is_all_that_hears(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TOOL_PARSER", "pythonic")
    monkeypatch.setenv("REASONING_PARSER", "none")
    command = arguments("Qwen/Qwen3-8B", 8001, ["--max-model-len", "16384"])
    assert command[command.index("--tool-call-parser") + 1] == "pythonic"
    assert "--reasoning-parser" not in command
    assert command[command.index("--host") + 1] == "127.0.0.1"
    assert command[-2:] == ["--max-model-len", "16384"]


def test_an_unknown_family_is_one_line_that_says_what_to_do() -> None:
    command = [sys.executable, "serving/serve.py", "nobody/knows-it"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 2
    assert "TOOL_PARSER=" in done.stderr
    assert len(done.stderr.splitlines()) == 1
