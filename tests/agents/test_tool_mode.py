"""Which way of calling tools a model gets, by what it does in each."""

from typing import Any

import pytest

from pipeline.agents.ability_probe import probe
from pipeline.agents.tool_mode import find
from pipeline.config.models import ModelConfig, ToolMode
from pipeline.llm.base import Request
from pipeline.types import Message, ToolCall
from tests.scripted import ScriptedLLM

REAL = ModelConfig(provider="openai", model="m")
YES = Message(role="assistant", content='{"reason": "same", "correct": true}')


def called(*, repaired: bool = False, name: str = "search", arguments: str = '{"query": "lighthouse"}') -> Message:
    call = ToolCall(id="x", name=name, arguments=arguments, repaired=repaired)
    return Message(role="assistant", tool_calls=(call,))


PROSE, GOOD, READ = Message(role="assistant", content="In 1874."), called(), called(repaired=True)


@pytest.mark.parametrize(
    ("does", "mode", "said", "calls"),
    [
        ({"native": GOOD}, "native", "the server gives its calls", 1),
        ({"native": PROSE, "schema": GOOD}, "schema", "by the server's own calls it fails (it called no tool)", 2),
        ({"native": READ, "schema": GOOD}, "schema", "a form that a strict parser does not read", 2),
        ({"native": READ, "schema": PROSE}, "native", "structured output fails (it called no tool)", 2),
        ({"native": PROSE, "schema": called(arguments="7"), "text": READ}, "text", "cannot be read", 3),
        ({"native": called(name="fly"), "schema": PROSE, "text": PROSE}, "native", "in no mode", 3),
    ],
)
async def test_a_model_gets_the_first_way_that_works(
    does: dict[ToolMode, Message], mode: ToolMode, said: str, calls: int
) -> None:
    llm = ScriptedLLM(lambda request: does[request.calls])
    found = await find(REAL, llm)
    assert found.mode == mode
    assert said in found.why
    assert len(llm.requests) == calls


@pytest.mark.parametrize("mode", ["native", "schema", "text"])
async def test_what_the_settings_say_is_not_asked_for(mode: ToolMode) -> None:
    llm = ScriptedLLM([PROSE])
    found = await find(REAL.model_copy(update={"tools": mode}), llm)
    assert (found.mode, [request.calls for request in llm.requests]) == (mode, [mode])


async def test_the_probe_goes_on_in_the_mode_that_it_found_and_says_why() -> None:
    asked: list[Request] = []

    def model(request: Request) -> Message:
        asked.append(request)
        if request.output:
            return YES
        answers: dict[str, Any] = {"name": "answer", "arguments": '{"answer": "1874"}'}
        if request.calls == "native":
            return PROSE
        return GOOD if len(request.messages) == 2 else called(**answers)

    found = {finding.name: finding for finding in await probe(REAL, ScriptedLLM(model))}
    line = found["tool calls"]
    assert line.ok
    assert line.detail.startswith(
        "schema, since by the server's own calls it fails (turn 1: it called no tool): search → "
    )
    assert line.found
    assert line.found.mode == "schema"
    assert [request.calls for request in asked if request.tools] == ["native", "schema", "schema", "schema"]
