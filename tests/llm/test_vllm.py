"""vLLM's own server over weights made from scratch: `make test-vllm`, which sets up its environment.

The weights are random, so tests only require that everything on the wire is read correctly.
"""

import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import orjson
import pytest

from pipeline.agents.judge import VERDICT, VerdictOutput
from pipeline.agents.parse import parse
from pipeline.agents.tools import SOLVER_TOOLS
from pipeline.config import RunConfig
from pipeline.corpus import Corpus
from pipeline.errors import FormatError
from pipeline.llm.base import Completion, Finish
from pipeline.llm.openai import OpenAIModel
from pipeline.loop.episode import run_seed
from pipeline.run import Run, prepare
from pipeline.types import Message, Status
from serving.serve import FAMILIES
from tests.llm.test_real_server import make_config, make_request
from tests.run.fakes import RunCallbacks

ROOT = Path(__file__).parents[2]
PYTHON = os.environ.get("DIGSITE_VLLM", "")
"""The interpreter of the serving environment."""
PORT = 8123
URL = f"http://127.0.0.1:{PORT}/v1"
START_SECONDS = 600.0
QUIET = {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1", "VLLM_CPU_KVCACHE_SPACE": "1", "REASONING_PARSER": "none"}
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not PYTHON, reason="needs vLLM: make test-vllm")]
SAMPLES = 8


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Start the server as `make serve-llm` does."""
    folder = tmp_path_factory.mktemp("weights") / "tiny-qwen3"
    subprocess.run([PYTHON, "tests/llm/tiny_checkpoint.py", str(folder)], cwd=ROOT, check=True, timeout=300)
    command = [PYTHON, "serving/serve.py", str(folder), str(PORT), "--served-model-name", "tiny", "--enforce-eager"]
    # With a seed, a prompt that is read in parts ends the CPU build ("CPU Generator does not use offset").
    command += ["--max-num-seqs", "16", "--max-model-len", "16384", "--max-num-batched-tokens", "131072"]
    with (folder.parent / "log").open("wb") as log:
        # Its own session, so that its engine and workers can be ended with it.
        process = subprocess.Popen(
            command, cwd=ROOT, env={**os.environ, **QUIET}, stdout=log, stderr=log, start_new_session=True
        )
    try:
        assert wait_until_up(process), (folder.parent / "log").read_text()[-3000:]
        yield URL
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_until_up(process: subprocess.Popen[bytes]) -> bool:
    end = time.monotonic() + START_SECONDS
    while process.poll() is None and time.monotonic() < end:
        try:
            with urllib.request.urlopen(f"{URL}/models", timeout=2):
                return True
        except (urllib.error.URLError, OSError):
            time.sleep(1)
    return False


@pytest.fixture
def config(url: str, tmp_path: Path) -> RunConfig:
    return make_config(url, tmp_path)


async def ask_samples(config: RunConfig, **fields: object) -> list[Completion]:
    model = OpenAIModel(config.models.default, 0)
    messages = (Message(role="user", content="Who wrote Selandor?"),)
    return [await model.complete(make_request(messages, sample=sample, **fields)) for sample in range(SAMPLES)]


async def test_tool_calls_are_read(config: RunConfig) -> None:
    completions = await ask_samples(config, tools=SOLVER_TOOLS, tool_choice="answer")
    print([completion.finish.value for completion in completions])
    calls = [call for completion in completions for call in completion.message.tool_calls]
    assert calls
    assert {call.name for call in calls} == {"answer"}
    assert {c.finish for c in completions} <= {Finish.TOOL_CALLS, Finish.LENGTH, Finish.STOP}


async def test_structured_output_fits_its_schema(config: RunConfig) -> None:
    completions = await ask_samples(config, output=VERDICT)
    print([completion.finish.value for completion in completions])
    complete = [completion for completion in completions if completion.finish is Finish.STOP]
    assert complete
    assert all(is_readable(completion) for completion in complete)


def is_readable(completion: Completion) -> bool:
    try:
        return parse(VerdictOutput, completion.message.content) is not None
    except FormatError:
        return False


async def test_limits_are_kept_and_an_overflow_is_a_finish_of_its_own(config: RunConfig) -> None:
    model = OpenAIModel(config.models.default, 0)
    short = await model.complete(make_request((Message(role="user", content="Who?"),), sampling={"max_tokens": 7}))
    assert short.usage.completion_tokens <= 7
    long = await model.complete(make_request((Message(role="user", content="word " * 40_000),)))
    assert long.finish is Finish.CONTEXT


async def test_a_repeated_prefix_is_reported_as_cached(config: RunConfig) -> None:
    model = OpenAIModel(config.models.default, 0)
    messages = (Message(role="user", content="The lighthouse was lit in 1874. " * 60),)
    first, second = [await model.complete(make_request(messages, sample=sample)) for sample in range(2)]
    print(first.usage, second.usage)
    assert second.usage.cached_tokens > second.usage.prompt_tokens / 2


async def test_a_run_ends_with_true_reasons_and_no_crash(config: RunConfig, tiny: Corpus) -> None:
    context = prepare.context(config, tiny)
    with Run(config, tiny) as run:
        result = await run.execute(lambda seed: run_seed(seed, context), RunCallbacks())
        records = list(run.records())
    print(result.reasons)
    assert (result.planned, result.accepted) == (3, 0)
    assert {record.status for record in records} <= {Status.REJECTED, Status.FAILED}
    assert all(record.reason for record in records)
    assert "deadline" not in result.reasons
    assert sum(record.usage["generator"].calls for record in records) >= 3


def test_every_parser_that_we_name_exists_in_vllm() -> None:
    script = (
        "import json; from vllm.tool_parsers import ToolParserManager as T; from vllm.reasoning import "
        "ReasoningParserManager as R; print(json.dumps([T.list_registered(), R.list_registered()]))"
    )
    process = subprocess.run([PYTHON, "-c", script], capture_output=True, check=True, timeout=300)
    tools, reasoning = orjson.loads(process.stdout.splitlines()[-1])
    assert {family.tools for family in FAMILIES} <= set(tools)
    assert {family.reasoning for family in FAMILIES} <= {"", *reasoning}
