"""The probe reports in words what a model can do, whatever it answers."""

from typing import Any, Literal

import orjson
import pytest

from pipeline.agents.tool_mode import Ask
from pipeline.agents.tools import PROPOSE
from pipeline.config.models import ModelConfig, Sampling
from pipeline.demo.role_dispatch import DemoModel
from pipeline.doctor.ability_probe import ProbeFinding, long_prompt, nested_call, probe
from pipeline.errors import ProviderError, RequestRefused
from pipeline.llm.base import Completion, Finish, Request
from pipeline.llm.token_estimate import size
from pipeline.types import Message, Usage
from tests.agents.conversations import make_calls
from tests.scripted_llm import Output, ScriptedLLM

REAL = ModelConfig(provider="openai", model="m")
YES = '{"correct": true, "reason": "same"}'


SEARCH = make_calls(("search", {"query": "lighthouse"})).model_copy(update={"reasoning": "I search"})
ANSWER = make_calls(("answer", {"answer": "1874"}))


def make_empty_completion(finish: Finish) -> Completion:
    return Completion(message=Message(role="assistant", reasoning="hm"), finish=finish, usage=Usage(calls=1))


def make_ask(model: ModelConfig, llm: ScriptedLLM) -> Ask:
    async def ask(**fields: Any) -> Completion:
        return await llm.complete(Request(model=model.model, sampling=model.sampling, **fields))

    return ask


async def probe_outputs(*outputs: Output | Exception) -> dict[str, ProbeFinding]:
    findings = await probe(ModelConfig(), ScriptedLLM([*outputs, ANSWER, ANSWER]))
    assert all(finding.ok or finding.remedy for finding in findings)
    return {finding.name: finding for finding in findings}


async def test_a_good_model_passes_every_probe() -> None:
    findings = await probe_outputs(SEARCH, ANSWER, YES)
    assert all(finding.ok for finding in findings.values())
    assert "search → answer, the right answer" in findings["tool calls"].detail
    assert "separate" in findings["reasoning"].detail


async def test_the_probe_takes_three_turns_and_forces_the_last() -> None:
    llm = ScriptedLLM([SEARCH, SEARCH, ANSWER, YES, ANSWER, ANSWER])
    await probe(ModelConfig(), llm)
    assert [request.tool_choice for request in llm.requests[:3]] == ["auto", "auto", "answer"]
    assert [len(request.messages) for request in llm.requests[:3]] == [2, 4, 6]


@pytest.mark.parametrize(
    ("output", "detail"),
    [
        ("I do not know.", "called no tool"),
        (make_empty_completion(Finish.EMPTY), "thought, and then said nothing"),
        (make_empty_completion(Finish.CONTEXT), "does not fit its context"),
        (make_empty_completion(Finish.LENGTH), "cut off at the token limit"),
        (make_calls(("shell", "{}")), "'shell', which was not offered"),
        (make_calls(("search", "574")), "arguments of 'search' cannot be read"),
    ],
)
async def test_a_fault_of_tool_calls_is_named(output: Output, detail: str) -> None:
    findings = await probe_outputs(output, YES)
    assert not findings["tool calls"].ok
    assert detail in findings["tool calls"].detail
    assert findings["structured output"].ok


async def test_a_model_that_never_answers_and_one_that_ignores_the_schema() -> None:
    findings = await probe_outputs(SEARCH, SEARCH, SEARCH, "yes, it is")
    assert (findings["tool calls"].ok, findings["structured output"].ok) == (False, False)
    assert "[models.judge]" in findings["structured output"].remedy


@pytest.mark.parametrize("reasoning", ["keep", "strip"])
@pytest.mark.parametrize("shows", [True, False])
async def test_the_probe_says_whether_the_template_shows_the_reasoning(
    shows: bool, reasoning: Literal["keep", "strip"]
) -> None:
    def model(request: Request) -> Output:
        is_second = any(message.role == "tool" for message in request.messages)
        message = Message(role="assistant", content=YES) if request.output else ANSWER if is_second else SEARCH
        thought = sum(len(m.reasoning) for m in request.messages) if request.thoughts and shows else 0
        usage = Usage(calls=1, prompt_tokens=100 + thought // 4)
        return Completion(message=message, finish=Finish.STOP, usage=usage)

    config = ModelConfig(provider="openai", model="m", reasoning=reasoning)
    findings = {finding.name: finding for finding in await probe(config, ScriptedLLM(model))}
    assert findings["tool calls"].ok
    reasoning_finding = findings["reasoning"]
    assert reasoning_finding.ok is (shows or reasoning == "strip")
    assert ("template shows" in reasoning_finding.detail, "template leaves out" in reasoning_finding.detail) == (
        shows,
        not shows,
    )
    assert ("strip" in reasoning_finding.remedy) is not reasoning_finding.ok
    assert ("'keep' is possible" in reasoning_finding.detail) is (shows and reasoning == "strip")


async def test_an_unreachable_endpoint_ends_the_probe() -> None:
    findings = await probe_outputs(ProviderError("nobody there"))
    assert [finding.detail for finding in findings.values()] == ["nobody there"]


@pytest.mark.parametrize("refused", ["tool calls", "structured output"])
async def test_a_refused_request_is_reported_as_refused_and_the_other_probes_run(refused: str) -> None:
    words = "http://there/v1 refused a request (400: text content blocks must be non-empty)"

    def model(request: Request) -> Output | Exception:
        if refused == ("structured output" if request.output else "tool calls"):
            return RequestRefused(words)
        return YES if request.output else ANSWER

    findings = {finding.name: finding for finding in await probe(ModelConfig(), ScriptedLLM(model))}
    assert {"tool calls", "structured output"} <= findings.keys()
    assert not findings[refused].ok
    assert words in findings[refused].detail
    assert findings[refused].remedy


async def test_the_probe_requests_match_its_report() -> None:
    requests: list[Request] = []

    def model(request: Request) -> Output:
        requests.append(request)
        return YES if request.output else SEARCH if len(request.messages) == 2 else ANSWER

    model_config = ModelConfig(provider="openai", model="m")
    await probe(model_config, ScriptedLLM(model))
    assert [request.model for request in requests] == ["m"] * 7
    assert requests[2].tools == (PROPOSE,)
    assert requests[3].output is not None
    assert 11_000 < size(requests[4].messages) <= (model_config.room or 0)
    assert [request.thoughts for request in requests[5:]] == [False, True]


STEPS = [{"id": f"s{n}", "sub_question": "q", "answer": "a", "passage_id": f"p{n}", "sentences": [1]} for n in range(2)]
PROPOSED = {"question": "Which?", "steps": STEPS}


@pytest.mark.parametrize(
    ("arguments", "ok", "message"),
    [
        (PROPOSED, True, "as they should"),
        ({**PROPOSED, "steps": orjson.dumps(STEPS).decode()}, False, "come as text, which cannot be read (steps:"),
        ({**PROPOSED, "steps": STEPS[:1]}, False, "1 of two steps came"),
        ({"question": "Which?"}, False, "in another form, which cannot be read"),
        (None, False, "did not call `propose`"),
    ],
)
async def test_a_call_with_nested_lists_is_probed_as_a_run_makes_it(
    arguments: dict[str, object] | None, ok: bool, message: str
) -> None:
    output = make_calls(("propose", arguments)) if arguments else Message(role="assistant", content="Hm.")
    detail, remedy = await nested_call(REAL, make_ask(REAL, ScriptedLLM([output])))
    assert bool(remedy) is not ok
    assert message in detail
    assert ok or "--tool-call-parser" in remedy


@pytest.mark.parametrize(
    ("share", "reply", "ok", "message"),
    [
        (0.8, "Ada Brannick", True, "tokens are read"),
        (0.8, "I do not know", True, "did not find the answer at the beginning"),
        (0.4, "I do not know", False, "cuts prompts: it has read 4,"),
        (1.0, "I do not know", False, "reports no usage"),
        (1.0, "Ada Brannick", True, "tokens are read"),
    ],
)
async def test_a_long_prompt_shows_whether_the_server_cuts_it(share: float, reply: str, ok: bool, message: str) -> None:
    def model(request: Request) -> Completion:
        usage = Usage(calls=1, prompt_tokens=int(size(request.messages) * share))
        return Completion(message=Message(role="assistant", content=reply), finish=Finish.STOP, usage=usage)

    detail, remedy = await long_prompt(REAL, make_ask(REAL, ScriptedLLM(model)))
    assert (not remedy, message in detail) == (ok, True)
    assert ok or "num_ctx" in remedy


async def test_a_long_prompt_fits_a_small_context_and_a_refusal_is_reported() -> None:
    small = REAL.model_copy(update={"context": 8192, "sampling": Sampling(max_tokens=4096)})
    llm = ScriptedLLM([make_empty_completion(Finish.CONTEXT)])
    detail, remedy = await long_prompt(small, make_ask(small, llm))
    assert (bool(remedy), "does not fit" in detail) == (True, True)
    assert size(llm.requests[0].messages) <= (small.room or 0)


async def test_the_demo_model_passes_the_probe() -> None:
    """The demo model reads the inputs of its prompts and no prose, as `digsite serve-model` serves it."""
    findings = await probe(ModelConfig(), DemoModel())
    names = ("tool calls", "structured output", "reasoning")
    assert [(finding.name, finding.ok) for finding in findings] == [(name, True) for name in names]
    assert findings[1].detail == "fits the schema"
