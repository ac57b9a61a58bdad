"""How a model's way of calling tools is chosen, by what it does in each."""

from collections.abc import Callable
from typing import Any

import pytest

from pipeline.agents.tool_mode import find
from pipeline.config.models import ModelConfig, ReasoningMode, ToolMode
from pipeline.doctor.ability_probe import probe
from pipeline.errors import RequestRefused, UsageError
from pipeline.llm.base import Completion, Request
from pipeline.types import Message, ToolCall
from tests.scripted_llm import ScriptedLLM

REAL = ModelConfig(provider="openai", model="m")
YES = Message(role="assistant", content='{"reason": "same", "correct": true}')


def make_call(*, repaired: bool = False, name: str = "search", arguments: str = '{"query": "lighthouse"}') -> Message:
    call = ToolCall(id="x", name=name, arguments=arguments, repaired=repaired)
    return Message(role="assistant", tool_calls=(call,))


PROSE, GOOD, READ = Message(role="assistant", content="In 1874."), make_call(), make_call(repaired=True)
ANSWER = make_call(name="answer", arguments='{"answer": "1874"}')


@pytest.mark.parametrize(
    ("outputs", "mode", "why", "calls"),
    [
        ({"native": GOOD}, "native", "the server gives its calls", 2),
        ({"native": PROSE, "schema": GOOD}, "schema", "it fails (turn 1: it called no tool)", 3),
        ({"native": READ, "schema": GOOD}, "schema", "a form that a strict parser does not read", 4),
        ({"native": READ, "schema": PROSE}, "native", "structured output fails (turn 1: it called no tool)", 3),
        ({"native": PROSE, "schema": make_call(arguments="7"), "text": READ}, "text", "cannot be read", 4),
        ({"native": make_call(name="fly"), "schema": PROSE, "text": PROSE}, "native", "in no mode", 3),
    ],
)
async def test_a_model_gets_the_first_way_that_works(
    outputs: dict[ToolMode, Message], mode: ToolMode, why: str, calls: int
) -> None:
    llm = ScriptedLLM(lambda request: outputs[request.calls] if len(request.messages) == 2 else ANSWER)
    finding = await find(REAL, llm)
    assert finding.mode == mode
    assert why in finding.why
    assert len(llm.requests) == calls


@pytest.mark.parametrize("mode", ["native", "schema", "text"])
async def test_a_mode_from_the_settings_is_not_probed(mode: ToolMode) -> None:
    llm = ScriptedLLM([PROSE])
    finding = await find(REAL.model_copy(update={"tools": mode}), llm)
    assert (finding.mode, [request.calls for request in llm.requests]) == (mode, [mode])


async def test_the_probe_continues_in_the_mode_that_works_and_says_why() -> None:
    requests: list[Request] = []

    def model(request: Request) -> Message:
        requests.append(request)
        if request.output:
            return YES
        answers: dict[str, Any] = {"name": "answer", "arguments": '{"answer": "1874"}'}
        if request.calls == "native":
            return PROSE
        return GOOD if len(request.messages) == 2 else make_call(**answers)

    findings = {finding.name: finding for finding in await probe(REAL, ScriptedLLM(model))}
    line = findings["tool calls"]
    assert line.ok
    assert line.detail.startswith("schema, since by the server's own calls it fails (turn 1: it called no tool): sea")
    assert line.found
    assert line.found.mode == "schema"
    assert [request.calls for request in requests if request.tools] == ["native", "schema", "schema", "schema"]


def make_picky_llm(refuses: Callable[[Request], bool]) -> ScriptedLLM:
    """Make a model whose server refuses some requests in the second turn."""

    def answer(request: Request) -> Message | RequestRefused:
        if len(request.messages) == 2:
            return GOOD
        return RequestRefused("http://there refused a request (400: no)") if refuses(request) else ANSWER

    return ScriptedLLM(answer)


@pytest.mark.parametrize("reasoning", ["strip", "keep"])
async def test_reasoning_is_sent_as_the_server_accepts_it_in_the_second_turn(reasoning: ReasoningMode) -> None:
    model = REAL.model_copy(update={"reasoning": reasoning})
    finding = await find(model, make_picky_llm(lambda request: request.thoughts == (reasoning == "keep")))
    assert (finding.mode, finding.refuses) == ("native", reasoning)
    assert finding.reasoning == ("keep" if reasoning == "strip" else "strip")
    assert finding.holds_for(model)
    assert (await find(model, make_picky_llm(lambda request: False))).reasoning == reasoning


async def test_a_server_that_refuses_tool_results_gets_structured_output() -> None:
    finding = await find(REAL, make_picky_llm(lambda request: request.calls == "native"))
    assert (finding.mode, finding.refuses) == ("schema", None)
    assert "it fails (turn 2: http://there refused a request (400: no))" in finding.why


@pytest.mark.parametrize("tools", ["auto", "native", "text"])
async def test_a_server_that_refuses_everything_ends_the_command_in_one_line(tools: ToolMode) -> None:
    message = r"^m: turn 2: http://there refused a request \(400: no\): set tools to"
    with pytest.raises(UsageError, match=message) as caught:
        await find(REAL.model_copy(update={"tools": tools}), make_picky_llm(lambda request: True))
    assert caught.value.exit_code == 2


async def test_the_probe_reports_a_refused_request_and_advises_what_the_server_requires() -> None:
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
