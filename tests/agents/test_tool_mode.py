"""Which way of calling tools a model gets, by what it does in each."""

from collections.abc import Callable
from typing import Any

import pytest

from pipeline.agents.tool_mode import find
from pipeline.config.models import ModelConfig, ReasoningMode, ToolMode
from pipeline.doctor.ability_probe import probe
from pipeline.errors import RequestRefused, UsageError
from pipeline.llm.base import Completion, Request
from pipeline.types import Message, ToolCall
from tests.scripted import ScriptedLLM

REAL = ModelConfig(provider="openai", model="m")
YES = Message(role="assistant", content='{"reason": "same", "correct": true}')


def called(*, repaired: bool = False, name: str = "search", arguments: str = '{"query": "lighthouse"}') -> Message:
    call = ToolCall(id="x", name=name, arguments=arguments, repaired=repaired)
    return Message(role="assistant", tool_calls=(call,))


PROSE, GOOD, READ = Message(role="assistant", content="In 1874."), called(), called(repaired=True)
ANSWER = called(name="answer", arguments='{"answer": "1874"}')


@pytest.mark.parametrize(
    ("does", "mode", "said", "calls"),
    [
        ({"native": GOOD}, "native", "the server gives its calls", 2),
        ({"native": PROSE, "schema": GOOD}, "schema", "it fails (turn 1: it called no tool)", 3),
        ({"native": READ, "schema": GOOD}, "schema", "a form that a strict parser does not read", 4),
        ({"native": READ, "schema": PROSE}, "native", "structured output fails (turn 1: it called no tool)", 3),
        ({"native": PROSE, "schema": called(arguments="7"), "text": READ}, "text", "cannot be read", 4),
        ({"native": called(name="fly"), "schema": PROSE, "text": PROSE}, "native", "in no mode", 3),
    ],
)
async def test_a_model_gets_the_first_way_that_works(
    does: dict[ToolMode, Message], mode: ToolMode, said: str, calls: int
) -> None:
    llm = ScriptedLLM(lambda request: does[request.calls] if len(request.messages) == 2 else ANSWER)
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


def picky(refuses: Callable[[Request], bool]) -> ScriptedLLM:
    """A model whose server refuses some requests in a second turn."""

    def answer(request: Request) -> Message | RequestRefused:
        if len(request.messages) == 2:
            return GOOD
        return RequestRefused("http://there refused a request (400: no)") if refuses(request) else ANSWER

    return ScriptedLLM(answer)


@pytest.mark.parametrize("reasoning", ["strip", "keep"])
async def test_reasoning_is_what_the_server_takes_from_the_second_turn_on(reasoning: ReasoningMode) -> None:
    model = REAL.model_copy(update={"reasoning": reasoning})
    finding = await find(model, picky(lambda request: request.thoughts == (reasoning == "keep")))
    assert (finding.mode, finding.refuses) == ("native", reasoning)
    assert finding.reasoning == ("keep" if reasoning == "strip" else "strip")
    assert finding.holds_for(model)
    assert (await find(model, picky(lambda request: False))).reasoning == reasoning


async def test_a_server_that_refuses_results_of_tools_is_asked_by_structured_output() -> None:
    finding = await find(REAL, picky(lambda request: request.calls == "native"))
    assert (finding.mode, finding.refuses) == ("schema", None)
    assert "it fails (turn 2: http://there refused a request (400: no))" in finding.why


@pytest.mark.parametrize("tools", ["auto", "native", "text"])
async def test_a_server_that_refuses_everything_ends_the_command_in_one_line(tools: ToolMode) -> None:
    with pytest.raises(
        UsageError, match=r"^m: turn 2: http://there refused a request \(400: no\): set tools to"
    ) as caught:
        await find(REAL.model_copy(update={"tools": tools}), picky(lambda request: True))
    assert caught.value.exit_code == 2


async def test_the_probe_counts_a_refused_request_as_refused_and_advises_what_the_server_wants() -> None:
    def model(request: Request) -> Completion | Message | RequestRefused:
        if request.output:
            return YES
        if any(message.role == "tool" for message in request.messages):
            is_right = request.thoughts and all(m.reasoning for m in request.messages if m.role == "assistant")
            return ANSWER if is_right else RequestRefused("reasoning_content is missing")
        return GOOD.model_copy(update={"reasoning": "I search."}) if request.tools else YES

    for reasoning in ("keep", "strip"):
        findings = await probe(REAL.model_copy(update={"reasoning": reasoning}), ScriptedLLM(model))
        line = {finding.name: finding for finding in findings}["reasoning"]
        assert line.ok
        assert "sent back" in line.detail
        assert "not sent back" not in line.detail
        assert " 0 " not in line.detail
        assert "strip" not in line.remedy
