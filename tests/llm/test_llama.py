"""`--model gguf:FILE` starts llama.cpp's server with the run, and reports what prevents it in one line."""

import asyncio
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import orjson
import pytest

from pipeline.cli import options
from pipeline.config import RunConfig, build, gguf_weights
from pipeline.config.models import Sampling
from pipeline.errors import ProviderError, UsageError
from pipeline.llm.base import Request
from pipeline.llm.llama import LlamaModel
from pipeline.run import prepare
from pipeline.types import Message

ROOT = Path(__file__).parents[2]
FILE = Path(__file__).parent / "tiny-tool-caller.gguf"
ASK = Request(
    model="tiny", messages=(Message(role="user", content="Who wrote Selandor?"),), sampling=Sampling(max_tokens=20)
)
needs_llama = pytest.mark.skipif(find_spec("xllamacpp") is None, reason="xllamacpp is not installed here")


def make_config(file: Path) -> RunConfig:
    return options.build_config({"model": f"gguf:{file}"})


def test_a_models_name_depends_on_the_file_and_not_on_its_path(tmp_path: Path) -> None:
    (tmp_path / FILE.name).write_bytes(FILE.read_bytes())
    name = gguf_weights.name(FILE)
    assert name == gguf_weights.name(tmp_path / FILE.name)
    assert name.startswith("tiny-tool-caller@")
    (tmp_path / FILE.name).write_bytes(FILE.read_bytes()[:-1] + b"x")
    assert gguf_weights.name(tmp_path / FILE.name) != name
    config = make_config(FILE)
    assert config.models.default.model == name
    assert config.digest() == build(values={"models": {"default": {"provider": "gguf", "file": str(FILE)}}}).digest()
    restored = RunConfig.model_validate_json(config.model_dump_json())
    assert restored == config
    assert config.models.default.limits.concurrency == 2
    assert config.runtime.rollout_seconds is None


@needs_llama
def test_weights_that_cannot_be_run_are_a_usage_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"cannot read the weights .*nowhere.gguf: No such file"):
        make_config(tmp_path / "nowhere.gguf")
    (tmp_path / "text.gguf").write_text("not weights")
    with pytest.raises(UsageError, match="is not a GGUF file"):
        make_config(tmp_path / "text.gguf")
    moved = tmp_path / "moved.gguf"
    moved.write_bytes(FILE.read_bytes())
    config = make_config(moved)
    moved.write_bytes(FILE.read_bytes()[:-1] + b"x")
    with pytest.raises(UsageError, match="contains other weights"):
        prepare.check(config)
    monkeypatch.setattr(gguf_weights, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="needs the extra 'local'"):
        prepare.check(make_config(FILE))


@needs_llama
def test_a_truncated_file_stops_the_run(tmp_path: Path) -> None:
    (tmp_path / "cut.gguf").write_bytes(FILE.read_bytes()[:2000])
    model = LlamaModel(make_config(tmp_path / "cut.gguf").models.default, 0)
    with pytest.raises(ProviderError, match=r"llama.cpp cannot run .*cut.gguf") as caught:
        asyncio.run(model.complete(ASK))
    assert caught.value.then == "stop"


@needs_llama
def test_the_server_answers_several_requests_at_once() -> None:
    model = LlamaModel(make_config(FILE).models.default, 0)

    async def ask_twice() -> None:
        completions = await asyncio.gather(model.complete(ASK), model.complete(ASK.model_copy(update={"sample": 1})))
        assert all(completion.usage.completion_tokens > 0 for completion in completions)

    asyncio.run(ask_twice())
    assert model.serve().loopback


@pytest.mark.slow
@needs_llama
def test_an_interrupted_command_ends_while_the_server_answers(tmp_path: Path) -> None:
    process = subprocess.Popen(generate(tmp_path, 50), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    end = time.monotonic() + 60
    while not (tmp_path / "cache.sqlite").exists() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    time.sleep(1)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=30) == 130


def generate(out: Path, seeds: int) -> list[str]:
    command = [sys.executable, "-m", "pipeline.cli", "generate", "tiny", "--no-flow", "--retriever", "bm25"]
    options_of_run = ["--seeds", str(seeds), "--model", f"gguf:{FILE}", "--out", str(out)]
    return [*command, *options_of_run, "--set", "models.default.sampling.max_tokens=200"]


@pytest.mark.slow
@needs_llama
def test_a_command_over_a_file_ends_with_true_reasons(tmp_path: Path) -> None:
    process = subprocess.run(
        [*generate(tmp_path, 2), "--json"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120
    )
    assert process.returncode == 0, process.stderr
    result = orjson.loads(process.stdout)
    assert result["planned"] == 2 == result["rejected"] + result["failed"]
    assert sum(result["reasons"].values()) == 2
    assert "deadline" not in result["reasons"]
