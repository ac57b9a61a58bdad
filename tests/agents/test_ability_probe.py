"""The probe says in words what a model can do, whatever it does."""

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
from pipeline.types import Message, ToolCall, Usage
from tests.scripted import Output, ScriptedLLM

REAL = ModelConfig(provider="openai", model="m")
YES = '{"correct": true, "reason": "same"}'


def call(name: str, arguments: str, reasoning: str = "") -> Message:
    return Message(
        role="assistant", reasoning=reasoning, tool_calls=(ToolCall(id="x", name=name, arguments=arguments),)
    )


SEARCH, ANSWER = call("search", '{"query": "lighthouse"}', "I search"), call("answer", '{"answer": "1874"}')


def nothing(finish: Finish) -> Completion:
    return Completion(message=Message(role="assistant", reasoning="hm"), finish=finish, usage=Usage(calls=1))


def asking(model: ModelConfig, llm: ScriptedLLM) -> Ask:
    async def ask(**fields: Any) -> Completion:
        return await llm.complete(Request(model=model.model, sampling=model.sampling, **fields))

    return ask


async def findings(*outputs: Output | Exception) -> dict[str, ProbeFinding]:
    found = await probe(ModelConfig(), ScriptedLLM([*outputs, ANSWER, ANSWER]))
    assert all(finding.ok or finding.remedy for finding in found)
    return {finding.name: finding for finding in found}


async def test_a_good_model() -> None:
    found = await findings(SEARCH, ANSWER, YES)
    assert all(finding.ok for finding in found.values())
    assert "search → answer, the right answer" in found["tool calls"].detail
    assert "separate" in found["reasoning"].detail


async def test_three_turns_and_the_last_is_forced() -> None:
    llm = ScriptedLLM([SEARCH, SEARCH, ANSWER, YES, ANSWER, ANSWER])
    await probe(ModelConfig(), llm)
    assert [request.tool_choice for request in llm.requests[:3]] == ["auto", "auto", "answer"]
    assert [len(request.messages) for request in llm.requests[:3]] == [2, 4, 6]


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("I do not know.", "called no tool"),
        (nothing(Finish.EMPTY), "thought, and then said nothing"),
        (nothing(Finish.CONTEXT), "does not fit its context"),
        (nothing(Finish.LENGTH), "cut off at the token limit"),
        (call("shell", "{}"), "'shell', which was not offered"),
        (call("search", "574"), "arguments of 'search' cannot be read"),
    ],
)
async def test_what_is_wrong_is_said(output: Output, said: str) -> None:
    found = await findings(output, YES)
    assert not found["tool calls"].ok
    assert said in found["tool calls"].detail
    assert found["structured output"].ok


async def test_a_model_that_never_answers_and_one_that_ignores_the_schema() -> None:
    found = await findings(SEARCH, SEARCH, SEARCH, "yes, it is")
    assert (found["tool calls"].ok, found["structured output"].ok) == (False, False)
    assert "[models.judge]" in found["structured output"].remedy


@pytest.mark.parametrize("reasoning", ["keep", "strip"])
@pytest.mark.parametrize("shows", [True, False])
async def test_of_thoughts_it_says_whether_the_template_shows_them(
    shows: bool, reasoning: Literal["keep", "strip"]
) -> None:
    def model(request: Request) -> Output:
        again = any(message.role == "tool" for message in request.messages)
        message = Message(role="assistant", content=YES) if request.output else ANSWER if again else SEARCH
        thought = sum(len(m.reasoning) for m in request.messages) if request.thoughts and shows else 0
        usage = Usage(calls=1, prompt_tokens=100 + thought // 4)
        return Completion(message=message, finish=Finish.STOP, usage=usage)

    config = ModelConfig(provider="openai", model="m", reasoning=reasoning)
    found = {finding.name: finding for finding in await probe(config, ScriptedLLM(model))}
    assert found["tool calls"].ok
    said = found["reasoning"]
    assert said.ok is (shows or reasoning == "strip")
    assert ("template shows" in said.detail, "template leaves out" in said.detail) == (shows, not shows)
    assert ("strip" in said.remedy) is not said.ok
    assert ("'keep' is possible" in said.detail) is (shows and reasoning == "strip")


async def test_an_endpoint_that_is_not_there_ends_it() -> None:
    found = await findings(ProviderError("nobody there"))
    assert [finding.detail for finding in found.values()] == ["nobody there"]


@pytest.mark.parametrize("refused", ["tool calls", "structured output"])
async def test_a_refused_request_is_told_as_refused_and_the_others_are_tried(refused: str) -> None:
    """It does not say that the model calls no tool."""
    words = "http://there/v1 refused a request (400: text content blocks must be non-empty)"

    def model(request: Request) -> Output | Exception:
        if refused == ("structured output" if request.output else "tool calls"):
            return RequestRefused(words)
        return YES if request.output else ANSWER

    found = {one.name: one for one in await probe(ModelConfig(), ScriptedLLM(model))}
    assert {"tool calls", "structured output"} <= found.keys()
    assert not found[refused].ok
    assert words in found[refused].detail
    assert found[refused].remedy


async def test_it_asks_for_what_it_says() -> None:
    asked: list[Request] = []

    def model(request: Request) -> Output:
        asked.append(request)
        return YES if request.output else SEARCH if len(request.messages) == 2 else ANSWER

    model_config = ModelConfig(provider="openai", model="m")
    await probe(model_config, ScriptedLLM(model))
    assert [request.model for request in asked] == ["m"] * 7
    assert asked[2].tools == (PROPOSE,)
    assert asked[3].output is not None
    assert 11_000 < size(asked[4].messages) <= (model_config.room or 0)
    assert [request.thoughts for request in asked[5:]] == [False, True]


STEPS = [{"id": f"s{n}", "sub_question": "q", "answer": "a", "passage_id": f"p{n}", "sentences": [1]} for n in range(2)]
PROPOSED = {"question": "Which?", "steps": STEPS}


@pytest.mark.parametrize(
    ("arguments", "ok", "said"),
    [
        (PROPOSED, True, "as they should"),
        ({**PROPOSED, "steps": orjson.dumps(STEPS).decode()}, False, "come as text, which cannot be read (steps:"),
        ({**PROPOSED, "steps": STEPS[:1]}, False, "1 of two steps came"),
        ({"question": "Which?"}, False, "in another form, which cannot be read"),
        (None, False, "did not call `propose`"),
    ],
)
async def test_a_call_with_lists_in_it_is_tried_as_a_run_makes_it(
    arguments: dict[str, object] | None, ok: bool, said: str
) -> None:
    made = call("propose", orjson.dumps(arguments).decode()) if arguments else Message(role="assistant", content="Hm.")
    detail, remedy = await nested_call(REAL, asking(REAL, ScriptedLLM([made])))
    assert bool(remedy) is not ok
    assert said in detail
    assert ok or "--tool-call-parser" in remedy


@pytest.mark.parametrize(
    ("share", "says", "ok", "said"),
    [
        (0.8, "Ada Brannick", True, "tokens are read"),
        (0.8, "I do not know", True, "did not find the answer at the beginning"),
        (0.4, "I do not know", False, "cuts prompts: it has read 4,"),
        (1.0, "I do not know", False, "reports no usage"),
        (1.0, "Ada Brannick", True, "tokens are read"),
    ],
)
async def test_a_long_prompt_shows_whether_the_server_cuts_it(share: float, says: str, ok: bool, said: str) -> None:
    def model(request: Request) -> Completion:
        usage = Usage(calls=1, prompt_tokens=int(size(request.messages) * share))
        return Completion(message=Message(role="assistant", content=says), finish=Finish.STOP, usage=usage)

    detail, remedy = await long_prompt(REAL, asking(REAL, ScriptedLLM(model)))
    assert (not remedy, said in detail) == (ok, True)
    assert ok or "num_ctx" in remedy


async def test_a_long_prompt_fits_a_small_context_and_one_that_does_not_is_said() -> None:
    small = REAL.model_copy(update={"context": 8192, "sampling": Sampling(max_tokens=4096)})
    llm = ScriptedLLM([nothing(Finish.CONTEXT)])
    detail, remedy = await long_prompt(small, asking(small, llm))
    assert (bool(remedy), "does not fit" in detail) == (True, True)
    assert size(llm.requests[0].messages) <= (small.room or 0)


async def test_all_is_well_with_the_embedded_model() -> None:
    """As `digsite serve-model` serves it: it reads the inputs of its prompts and no prose."""
    found = await probe(ModelConfig(), DemoModel())
    assert [(finding.name, finding.ok) for finding in found] == [
        ("tool calls", True),
        ("structured output", True),
        ("reasoning", True),
    ]
    assert found[1].detail == "fits the schema"
