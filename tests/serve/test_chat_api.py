"""The server and the client of Chat Completions match: one reads what the other writes."""

import string

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from pipeline.agents.tools import SOLVER_TOOLS
from pipeline.config.models import Sampling
from pipeline.llm import reply
from pipeline.llm.base import Completion, Finish, Request, Schema
from pipeline.llm.chat_body import body as written
from pipeline.llm.chat_body import make_strict, wire_seed
from pipeline.llm.conversation_shape import is_empty_turn, join_users
from pipeline.serve import chat_api
from pipeline.serve.demo_server import router
from pipeline.types import Message, ToolCall, Usage
from tests.serve.conftest import Ask

CHAT = TypeAdapter(chat_api.ChatRequest)
TEXT = st.text(max_size=20)
NAME = st.text(alphabet=string.ascii_letters, min_size=1, max_size=8)
CALL = st.builds(
    ToolCall, id=NAME, name=NAME, arguments=st.dictionaries(NAME, TEXT).map(lambda d: orjson.dumps(d).decode())
)
MESSAGE = st.one_of(
    st.builds(Message, role=st.sampled_from(["system", "user"]), content=TEXT),
    st.builds(Message, role=st.just("assistant"), content=TEXT, tool_calls=st.lists(CALL, max_size=2).map(tuple)),
    st.builds(Message, role=st.just("tool"), content=TEXT, tool_call_id=NAME),
)


def _is_sent_as_it_stands(messages: tuple[Message, ...]) -> bool:
    """Return whether no message is left out or joined to another on the way to a server."""
    return not any(map(is_empty_turn, messages)) and len(join_users(messages)) == len(messages)


SCHEMA = Schema(name="verdict", body={"type": "object", "properties": {"correct": {"type": "boolean"}}})
REQUESTS = st.builds(
    Request,
    model=NAME,
    messages=st.lists(MESSAGE, min_size=1, max_size=4).map(tuple).filter(_is_sent_as_it_stands),
    tools=st.sampled_from([(), SOLVER_TOOLS]),
    tool_choice=st.sampled_from(["auto", "required", "answer"]),
    output=st.sampled_from([None, SCHEMA]),
    sampling=st.builds(Sampling, temperature=st.floats(0, 2), max_tokens=st.integers(1, 99)),
    sample=st.integers(0, 99),
)


@given(REQUESTS)
def test_requests_survive_the_round_trip(request: Request) -> None:
    raw = orjson.dumps(written(request, 0))
    heard = chat_api.model_request(CHAT.validate_json(raw), request.sample)
    tools = tuple(tool.model_copy(update={"parameters": make_strict(tool.parameters)}) for tool in request.tools)
    output = SCHEMA.model_copy(update={"body": make_strict(SCHEMA.body)}) if request.output else None
    choice = request.tool_choice if request.tools else "auto"
    assert heard == request.model_copy(update={"tools": tools, "output": output, "tool_choice": choice})


@given(TEXT, st.lists(CALL, max_size=2), st.integers(0, 99), st.integers(0, 99))
def test_answers_survive_the_round_trip(text: str, calls: list[ToolCall], prompt: int, completion: int) -> None:
    message = Message(role="assistant", content=text, tool_calls=tuple(calls))
    usage = Usage(calls=1, prompt_tokens=prompt, completion_tokens=completion)
    finish = Finish.TOOL_CALLS if calls else Finish.STOP
    sent = Completion(message=message, finish=finish, usage=usage)
    received = reply.completion(orjson.dumps(chat_api.chat_completion(sent, "embedded")))
    received_calls = tuple(call.model_copy(update={"server_fields": ""}) for call in received.message.tool_calls)
    assert (received.message.content, received_calls, received.usage) == (text, message.tool_calls, usage)


def test_unknown_fields_are_ignored() -> None:
    tree = {
        "model": "m",
        "messages": [
            {"role": "developer", "content": [{"type": "text", "text": "Be "}, {"type": "text", "text": "brief."}]},
            {"role": "assistant", "content": None, "refusal": None, "annotations": []},
        ],
        "stop": ["x"],
        "logprobs": True,
        "user": "me",
    }
    heard = chat_api.model_request(CHAT.validate_python(tree), 3)
    assert heard.messages == (Message(role="system", content="Be brief."), Message(role="assistant"))
    assert (heard.sample, heard.tool_choice, heard.sampling) == (3, "auto", Sampling())


@pytest.mark.parametrize(
    ("tree", "place"),
    [
        ({}, "model: "),
        ({"model": "m"}, "messages: "),
        ({"model": "m", "messages": [{"role": "king"}]}, "messages.0.role: "),
        ({"model": "m", "messages": [], "response_format": {"type": "json_object"}}, "response_format.type: "),
        ({"model": "m", "messages": [], "tools": [{"type": "function"}]}, "tools.0.function: "),
    ],
)
def test_a_bad_request_names_its_field(ask: Ask, tree: dict[str, object], place: str) -> None:
    answer = ask(router(), "POST", "/v1/chat/completions", json=tree)
    assert answer.status_code == 400
    assert answer.json()["error"]["message"].startswith(place)


def test_the_seed_gives_the_sample() -> None:
    assert len({wire_seed(0, sample) for sample in range(4096)}) == 4096
