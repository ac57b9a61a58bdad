"""Chat Completions requests and answers on the side of a server; `llm.chat_body` and `llm.reply` are the client's.

Fields that are not declared here are ignored, since clients send many that the demo model does not use.
"""

from typing import Any, Literal

import orjson
from pydantic import Field

from pipeline.config.models import Sampling
from pipeline.llm.base import Completion, Request, Schema, Tool
from pipeline.types import Data, Message, ToolCall


class _ClientData(Data, extra="ignore"):
    pass


class _CalledFunction(_ClientData):
    name: str
    arguments: str = ""


class _Call(_ClientData):
    """A call in the history, or the tool that must be called."""

    function: _CalledFunction
    id: str = ""


class _Part(_ClientData):
    text: str


class _Message(_ClientData):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | list[_Part] | None = None
    tool_calls: list[_Call] | None = None
    tool_call_id: str | None = None


class _Function(_ClientData):
    name: str
    description: str | None = None
    parameters: dict[str, Any] = Field(default_factory=dict)


class _Tool(_ClientData):
    function: _Function


class _Schema(_ClientData):
    name: str
    body: dict[str, Any] = Field(alias="schema")


class _Format(_ClientData):
    type: Literal["text", "json_schema"]
    json_schema: _Schema | None = None


class ChatRequest(_ClientData):
    """The fields of a request that are read."""

    model: str
    messages: list[_Message]
    tools: list[_Tool] | None = None
    tool_choice: str | _Call | None = None
    response_format: _Format | None = None
    temperature: float | None = None
    top_p: float | None = None
    max_completion_tokens: int | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stream: bool | None = None
    n: int | None = None


def model_request(body: ChatRequest, sample: int) -> Request:
    """Convert a client's request for one of our models."""
    choice, output = body.tool_choice or "auto", body.response_format and body.response_format.json_schema
    defaults = Sampling()
    return Request(
        model=body.model,
        messages=tuple(map(_convert_message, body.messages)),
        tools=tuple(
            Tool(name=function.name, description=function.description or "", parameters=function.parameters)
            for function in (tool.function for tool in body.tools or ())
        ),
        tool_choice=choice if isinstance(choice, str) else choice.function.name,
        output=Schema(name=output.name, body=output.body) if output else None,
        sampling=Sampling(
            temperature=defaults.temperature if body.temperature is None else body.temperature,
            top_p=defaults.top_p if body.top_p is None else body.top_p,
            max_tokens=body.max_completion_tokens or body.max_tokens or defaults.max_tokens,
        ),
        sample=sample,
    )


def _convert_message(message: _Message) -> Message:
    content = message.content or ""
    return Message(
        role="system" if message.role == "developer" else message.role,
        content=content if isinstance(content, str) else "".join(part.text for part in content),
        tool_calls=tuple(
            ToolCall(id=call.id, name=call.function.name, arguments=call.function.arguments)
            for call in message.tool_calls or ()
        ),
        tool_call_id=message.tool_call_id or "",
    )


def chat_completion(completion: Completion, model: str) -> dict[str, Any]:
    """Convert a completion to the JSON of OpenAI's servers."""
    message: dict[str, Any] = {"role": "assistant", "content": completion.message.content or None}
    if completion.message.tool_calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
            for call in completion.message.tool_calls
        ]
    counts = ("prompt_tokens", "completion_tokens", "total_tokens")
    return {
        "id": "chatcmpl-0",
        "object": "chat.completion",
        "created": 0,
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": completion.finish.value, "logprobs": None}],
        "usage": {name: getattr(completion.usage, name) for name in counts},
    }


def chat_events(completion: Completion, model: str) -> bytes:
    """Convert a completion to the events of a stream: the whole message in one, then the usage, then the end."""
    whole = chat_completion(completion, model) | {"object": "chat.completion.chunk"}
    (choice,), usage = whole.pop("choices"), whole.pop("usage")
    message = choice.pop("message")
    calls = [{"index": index, **call} for index, call in enumerate(message.pop("tool_calls", ()))]
    delta = message | ({"tool_calls": calls} if calls else {})
    chunks = [whole | {"choices": [choice | {"delta": delta}]}, whole | {"choices": [], "usage": usage}]
    return b"".join(b"data: " + orjson.dumps(chunk) + b"\n\n" for chunk in chunks) + b"data: [DONE]\n\n"
