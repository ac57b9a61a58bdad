"""The demo model answers over HTTP, and refuses other requests in OpenAI's format."""

import json
from typing import Any

import pytest

from pipeline.agents.tools import SOLVER_TOOLS
from pipeline.demo import VERSION
from pipeline.llm.base import Completion, Finish, Request
from pipeline.llm.chat_body import body, wire_seed
from pipeline.serve.demo_server import router
from pipeline.types import Message, Usage
from tests.scripted_llm import ScriptedLLM
from tests.serve.conftest import Ask

SOLVE = Request(model="embedded", messages=(Message(role="user", content="Who built it?"),), tools=SOLVER_TOOLS)
SAID = Completion(message=Message(role="assistant", content="x"), finish=Finish.STOP, usage=Usage(calls=1))

VERDICT_ALONE = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": {}}}


def complete(ask: Ask, run_seed: int = 0, **fields: Any) -> Any:
    tree = {**body(SOLVE, run_seed), **fields}
    return ask(router(run_seed), "POST", "/v1/chat/completions", json=tree)


def test_the_solver_searches(ask: Ask) -> None:
    answer = complete(ask).json()
    (call,) = answer["choices"][0]["message"]["tool_calls"]
    assert (call["function"]["name"], answer["choices"][0]["finish_reason"]) == ("search", "tool_calls")
    usage = answer["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"] > 0


@pytest.mark.parametrize("run_seed", [0, 7])
@pytest.mark.parametrize("sample", [0, 1, 67])
def test_the_sample_is_told_from_the_seed_of_the_run(ask: Ask, run_seed: int, sample: int) -> None:
    model = ScriptedLLM([SAID])
    tree = body(SOLVE.model_copy(update={"sample": sample}), run_seed)
    ask(router(run_seed, model), "POST", "/v1/chat/completions", json=tree)
    assert model.requests[0].sample == sample
    assert tree["seed"] == wire_seed(run_seed, sample)


@pytest.mark.parametrize(("seed", "sample"), [(None, 0), (42, 42)])
def test_another_seed_is_a_sample_of_its_own(ask: Ask, seed: int | None, sample: int) -> None:
    model = ScriptedLLM([SAID])
    ask(router(0, model), "POST", "/v1/chat/completions", json={**body(SOLVE, 0), "seed": seed})
    assert model.requests[0].sample == sample


@pytest.mark.parametrize(
    ("fields", "status", "message"),
    [
        ({"model": "gpt-9"}, 404, "there is no model 'gpt-9' here, only 'embedded'"),
        ({"n": 2}, 400, "leave out `n`"),
        ({"tools": []}, 400, "the demo model has no rules for ''"),
        ({"messages": "hello"}, 400, "messages: "),
        ({"response_format": VERDICT_ALONE}, 400, "'verdict' is answered to the product's own prompts alone"),
    ],
)
def test_unsupported_requests_are_refused_with_a_reason(
    ask: Ask, fields: dict[str, Any], status: int, message: str
) -> None:
    answer = complete(ask, **fields)
    assert answer.status_code == status
    assert message in answer.json()["error"]["message"]


def test_a_client_that_streams_gets_the_same_answer(ask: Ask) -> None:
    """verifiers' own agent always asks for a stream."""
    (choice,) = complete(ask).json()["choices"]
    chunks = [line.removeprefix("data: ") for line in complete(ask, stream=True).text.splitlines() if line]
    (streamed,) = json.loads(chunks[0])["choices"]
    calls = [{key: value for key, value in call.items() if key != "index"} for call in streamed["delta"]["tool_calls"]]
    assert (calls, streamed["finish_reason"]) == (choice["message"]["tool_calls"], choice["finish_reason"])
    assert (json.loads(chunks[1])["choices"], chunks[2:]) == ([], ["[DONE]"])


def test_its_name_and_version_are_told(ask: Ask) -> None:
    (model,) = ask(router(), "GET", "/v1/models").json()["data"]
    assert (model["id"], model["root"]) == ("embedded", f"embedded-{VERSION}")


@pytest.mark.parametrize(
    "arguments", ['{"query":' + "[" * 100_000, "9" * 5000, '{"query": {"a": null}}', "[]", "", "null", "1e999", "\0"]
)
def test_an_odd_history_is_answered_or_refused_in_one_line(ask: Ask, arguments: str) -> None:
    call = {"id": "call_0", "type": "function", "function": {"name": "search", "arguments": arguments}}
    history = [
        {"role": "tool", "tool_call_id": None, "content": arguments},
        {"role": "user", "content": "Who built it?"},
        {"role": "assistant", "content": None, "tool_calls": [call, call]},
        {"role": "tool", "tool_call_id": "call_0", "content": arguments},
    ]
    answer = complete(ask, messages=history)
    deep = arguments.endswith("[")
    assert answer.status_code == (400 if deep else 200)
    assert not deep or "cannot read this history (RecursionError)" in answer.json()["error"]["message"]
