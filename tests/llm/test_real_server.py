"""Against llama.cpp's own server, over a tiny model that calls tools but knows nothing."""

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from pipeline.agents.judge import VERDICT, VerdictOutput
from pipeline.agents.structured import TRIES, request_object
from pipeline.config import RunConfig, build
from pipeline.config.models import Limits, ModelConfig, Sampling
from pipeline.doctor.ability_probe import probe
from pipeline.llm.base import Finish, Request, Tool
from pipeline.llm.llama import LlamaModel
from pipeline.llm.openai import OpenAIModel
from pipeline.llm.reach import served_context
from pipeline.llm.schemas import read_json
from pipeline.llm.written_calls import OfferedTools
from pipeline.types import Message

ROOT = Path(__file__).parents[2]
FILE = Path(__file__).parent / "tiny-tool-caller.gguf"
pytestmark = pytest.mark.skipif(find_spec("xllamacpp") is None, reason="xllamacpp is not installed here")
STRING = {"type": "string"}
TRAINED = tuple(
    Tool(name=name, description=name, parameters={"type": "object", "properties": dict.fromkeys(arguments, STRING)})
    for name, arguments in (("search", ("query",)), ("finish", ("answer", "evidence")))
)
"""The tools that the model was trained with."""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    limits = Limits(concurrency=4)
    model = LlamaModel(ModelConfig(provider="gguf", file=FILE, context=16_384, limits=limits), 0)
    yield model.serve().base_url
    model.close()


def make_config(url: str, out: Path, tokens: int = 200) -> RunConfig:
    sampling = {"max_tokens": tokens}
    model = {"provider": "openai", "model": "tiny", "base_url": url, "sampling": sampling}
    return build(
        values={
            "corpus": {"name": "tiny"},
            "retrieval": {"retriever": "bm25"},
            "models": {"default": model},
            "runtime": {"out": out, "seeds": 3},
        }
    )


def make_request(messages: tuple[Message, ...], **fields: object) -> Request:
    return Request.model_validate(
        {"model": "tiny", "messages": messages, "sampling": Sampling(max_tokens=200), **fields}
    )


async def test_tool_calls_and_cached_tokens_are_read(url: str, tmp_path: Path) -> None:
    model = OpenAIModel(make_config(url, tmp_path).models.default, 0)
    messages = (Message(role="user", content="Who wrote Selandor?"),)
    completions = [await model.complete(make_request(messages, tools=TRAINED, sample=sample)) for sample in range(6)]
    with_calls = [completion for completion in completions if completion.finish is Finish.TOOL_CALLS]
    assert with_calls
    assert {call.name for completion in with_calls for call in completion.message.tool_calls} <= {"search", "finish"}
    assert all(c.usage.prompt_tokens > 0 and c.usage.completion_tokens > 0 for c in completions)
    assert completions[-1].usage.cached_tokens > 0


async def test_by_schema_every_turn_is_a_call_that_fits_its_tool(url: str, tmp_path: Path) -> None:
    """Require calls and no free text, whatever the model prefers; an answer that is cut off is no call."""
    model = OpenAIModel(make_config(url, tmp_path).models.default, 0)
    messages = (Message(role="user", content="Say in plain words, without any tool, who wrote Selandor."),)
    completions = [
        await model.complete(make_request(messages, tools=TRAINED, calls="schema", sample=sample))
        for sample in range(6)
    ]
    complete = [completion for completion in completions if completion.finish is not Finish.LENGTH]
    assert complete
    assert all(completion.finish is Finish.TOOL_CALLS and not completion.message.content for completion in complete)
    calls = [call for completion in complete for call in completion.message.tool_calls]
    assert len(calls) == len(complete)
    assert all(OfferedTools(TRAINED).fits(call.name, read_json(call.arguments)) and not call.repaired for call in calls)
    forced = await model.complete(make_request(messages, tools=TRAINED, calls="schema", tool_choice="finish"))
    assert forced.finish is Finish.LENGTH or [call.name for call in forced.message.tool_calls] == ["finish"]


async def test_structured_output_fits_its_schema_or_is_asked_for_again(url: str, tmp_path: Path) -> None:
    """Allow further attempts: this server may end inside a string and call it a stop."""
    model = OpenAIModel(make_config(url, tmp_path).models.default, 0)
    messages = (Message(role="user", content="Is it so?"),)
    config = make_config(url, tmp_path).models.default
    output, usage = await request_object(model, config, messages, VERDICT.name, VerdictOutput)
    assert isinstance(output.correct, bool)
    assert 1 <= usage.calls <= TRIES


async def test_an_overflow_is_a_finish_of_its_own(url: str, tmp_path: Path) -> None:
    model = OpenAIModel(make_config(url, tmp_path).models.default, 0)
    completion = await model.complete(make_request((Message(role="user", content="word " * 20_000),)))
    assert completion.finish is Finish.CONTEXT


@pytest.mark.slow
async def test_the_probe_reports_what_the_model_can_do(url: str, tmp_path: Path) -> None:
    default = make_config(url, tmp_path).models.default
    findings = {finding.name: finding for finding in await probe(default, OpenAIModel(default, 0))}
    assert set(findings) == {"tool calls", "nested calls", "structured output", "long prompt", "reasoning"}
    assert "does not fit" in findings["long prompt"].detail
    assert all(finding.detail and (finding.ok or finding.remedy) for finding in findings.values())


async def test_the_stated_context_is_that_of_one_call(url: str, tmp_path: Path) -> None:
    """Expect the model's own limit: the server was started with a larger context, and for four calls at once."""
    assert await served_context(make_config(url, tmp_path).models.default) == 4096
