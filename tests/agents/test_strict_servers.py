"""The probe of a run finds the settings that each strict server accepts."""

import pytest

from pipeline.agents.tool_mode import find
from pipeline.config.models import Limits, ModelConfig
from pipeline.doctor.ability_probe import probe
from pipeline.llm.base import Request
from pipeline.llm.openai import OpenAIModel
from pipeline.types import Message, ToolCall
from tests.chaos.faulty_server import FaultyServer
from tests.scripted_llm import ScriptedLLM
from tests.strict_server import QUIRKS, strict

KEPT = ("reasoning", "routed_reasoning", "chunks")
"""Servers that require the reasoning to be sent back."""


def answer(request: Request) -> Message:
    """Search, then answer; without tools judge as correct."""
    if not request.tools:
        return Message(role="assistant", content='{"reason": "same", "correct": true}')
    is_second = any(message.role == "tool" for message in request.messages)
    name, arguments = ("answer", '{"answer": "1874"}') if is_second else ("search", '{"query": "lighthouse"}')
    return Message(role="assistant", tool_calls=(ToolCall(id="call_1", name=name, arguments=arguments),))


@pytest.mark.slow
@pytest.mark.parametrize("quirk", QUIRKS)
async def test_each_strict_server_gets_native_calls_and_the_reasoning_that_it_requires(quirk: str) -> None:
    limits = Limits(attempts=2)
    async with FaultyServer(model=ScriptedLLM(answer)) as server:
        with strict(server.url.removesuffix("/v1"), quirk) as (url, refusals):
            model = ModelConfig(provider="openai", model="small", base_urls=(url,), limits=limits)
            finding = await find(model, OpenAIModel(model, 0))
            assert (finding.mode, finding.reasoning) == ("native", "keep" if quirk in KEPT else "strip")
            assert len(refusals) < 8
            lines = {line.name: line for line in await probe(model, OpenAIModel(model, 0))}
    calls, reasoning = lines["tool calls"], lines["reasoning"]
    assert calls.ok
    assert calls.detail.startswith("native, since the server gives its calls")
    assert reasoning.ok, reasoning
    assert not reasoning.remedy
    if quirk in KEPT:
        assert "sent back, since the server refuses a conversation without it" in reasoning.detail
        assert "not sent back" not in reasoning.detail
