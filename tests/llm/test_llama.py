"""`--model gguf:FILE`: llama.cpp's server for as long as we live, and one line where it cannot be."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import orjson
import pytest

from pipeline.cli import options
from pipeline.config import RunConfig, build, weights
from pipeline.config.sampling import Sampling
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


def configured(file: Path) -> RunConfig:
    return options.settings({"model": f"gguf:{file}"})


def test_the_name_tells_files_apart_and_not_where_they_lie(tmp_path: Path) -> None:
    (tmp_path / FILE.name).write_bytes(FILE.read_bytes())
    name = weights.name(FILE)
    assert name == weights.name(tmp_path / FILE.name)
    assert name.startswith("tiny-tool-caller@")
    (tmp_path / FILE.name).write_bytes(FILE.read_bytes()[:-1] + b"x")
    assert weights.name(tmp_path / FILE.name) != name
    found = configured(FILE)
    assert found.models.default.model == name
    assert found.digest() == build(values={"models": {"default": {"provider": "gguf", "file": str(FILE)}}}).digest()
    again = RunConfig.model_validate_json(found.model_dump_json())
    assert again == found
    assert found.models.default.limits.concurrency == 2
    assert found.how.rollout_seconds is None


@needs_llama
def test_what_cannot_be_run_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match=r"cannot read the weights .*nowhere.gguf: No such file"):
        configured(tmp_path / "nowhere.gguf")
    (tmp_path / "text.gguf").write_text("not weights")
    with pytest.raises(UsageError, match="is not a GGUF file"):
        configured(tmp_path / "text.gguf")
    moved = tmp_path / "moved.gguf"
    moved.write_bytes(FILE.read_bytes())
    found = configured(moved)
    moved.write_bytes(FILE.read_bytes()[:-1] + b"x")
    with pytest.raises(UsageError, match="holds other weights"):
        prepare.check(found)
    monkeypatch.setattr(weights, "find_spec", lambda name: None)
    with pytest.raises(UsageError, match="needs the extra 'local'"):
        prepare.check(configured(FILE))


@needs_llama
def test_a_file_that_only_begins_as_weights_stops_the_run(tmp_path: Path) -> None:
    (tmp_path / "cut.gguf").write_bytes(FILE.read_bytes()[:2000])
    model = LlamaModel(configured(tmp_path / "cut.gguf").models.default, 0)
    with pytest.raises(ProviderError, match=r"llama.cpp cannot run .*cut.gguf") as caught:
        asyncio.run(model.complete(ASK))
    assert caught.value.then == "stop"


@needs_llama
def test_it_answers_and_says_when_its_server_is_gone() -> None:
    default = configured(FILE).models.default
    limits = default.limits.model_copy(update={"attempts": 1})
    model = LlamaModel(default.model_copy(update={"limits": limits}), 0)

    async def both() -> None:
        found = await asyncio.gather(model.complete(ASK), model.complete(ASK.model_copy(update={"sample": 1})))
        assert all(completion.usage.completion_tokens > 0 for completion in found)
        assert model._server
        model._server.kill()
        model._server.wait()
        with pytest.raises(ProviderError, match="server has ended"):
            await model.complete(ASK)

    asyncio.run(both())
    model.close()


@needs_llama
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_the_server_ends_with_the_command_whatever_ends_it(tmp_path: Path, number: int) -> None:
    command = [sys.executable, "-m", "pipeline.cli", "generate", "tiny", "--no-flow", "--retriever", "bm25", "--seeds"]
    command += [
        "50",
        "--model",
        f"gguf:{FILE}",
        "--out",
        str(tmp_path),
        "--set",
        "models.default.sampling.max_tokens=200",
    ]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    until(lambda: bool(servers(process.pid)), process)
    started = servers(process.pid)
    process.send_signal(number)
    process.wait(timeout=30)
    end = time.monotonic() + 10
    while any(map(alive, started)) and time.monotonic() < end:
        time.sleep(0.02)
    assert not any(map(alive, started))


def servers(parent: int) -> list[int]:
    """The llama servers that the process has started."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            mine = int(stat.read_text().rpartition(")")[2].split()[1]) == parent
            if mine and b"pipeline.llm.llama" in (stat.parent / "cmdline").read_bytes():
                found.append(int(stat.parent.name))
        except OSError:
            continue
    return found


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z"


def until(condition, process: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    while not condition() and process.poll() is None and time.monotonic() < end:
        time.sleep(0.05)
    assert process.poll() is None
    assert condition()


@needs_llama
def test_a_whole_command_over_a_file_ends_with_true_reasons(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pipeline.cli", "generate", "tiny", "--no-flow", "--retriever", "bm25", "--seeds"]
    command += [
        "2",
        "--model",
        f"gguf:{FILE}",
        "--out",
        str(tmp_path),
        "--set",
        "models.default.sampling.max_tokens=200",
    ]
    done = subprocess.run([*command, "--json"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    result = orjson.loads(done.stdout)
    assert result["planned"] == 2 == result["rejected"] + result["failed"]
    assert sum(result["reasons"].values()) == 2
    assert "deadline" not in result["reasons"]
