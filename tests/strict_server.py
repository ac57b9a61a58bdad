"""A proxy in front of a server of ours that refuses what real servers refuse, in their own words, in a thread."""

import itertools
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Tree = dict[str, Any]
Refusal = tuple[int, Any]


def _error(message: str, status: int = 400, **fields: Any) -> Refusal:
    return status, {"error": {"message": message, "type": "invalid_request_error", "param": None, **fields}}


def _calls(body: Tree) -> Iterator[tuple[int, Tree, Tree]]:
    for place, message in enumerate(body["messages"]):
        for call in message.get("tool_calls") or []:
            yield place, message, call


def signature(body: Tree) -> Refusal | None:
    """Gemini 3: the first call of a turn comes back with its signature; errors stand in a list."""
    for place, message, call in _calls(body):
        if call is message["tool_calls"][0] and "google" not in call.get("extra_content", {}):
            text = f"Function call `default_api:{call['function']['name']}` in the {place}. content block is missing a"
            text += " thought_signature. This is required for tools to work correctly."
            return 400, [{"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}]
    return None


def function_signature(body: Tree) -> Refusal | None:
    """A gateway that keeps the signature within the function, and another in the id."""
    bad = [
        call for _, _, call in _calls(body) if "thought_signature" not in call["function"] or "__s__" not in call["id"]
    ]
    answered = {message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"}
    unknown = answered - {call["id"] for _, _, call in _calls(body)}
    return _error("a thought_signature is missing") if bad or unknown else None


def reasoning(body: Tree) -> Refusal | None:
    """DeepSeek V4."""
    if all(message.get("reasoning_content") for _, message, _ in _calls(body)):
        return None
    return _error("The `reasoning_content` in the thinking mode must be passed back to the API.")


def routed_reasoning(body: Tree) -> Refusal | None:
    """Kimi K2.5 behind OpenRouter."""
    if all("reasoning_details" in message for _, message, _ in _calls(body)):
        return None
    text = "thinking is enabled but reasoning_content is missing in assistant tool call message at index 2"
    raw = json.dumps({"error": {"message": text, "type": "invalid_request_error"}})
    return 400, {"error": {"message": "Provider returned error", "code": 400, "metadata": {"raw": raw}}}


def chunks(body: Tree) -> Refusal | None:
    """Mistral: thoughts are parts of the content, and no other field of a message is known."""
    known = {"role", "content", "tool_calls", "tool_call_id", "name", "prefix"}
    for place, message in enumerate(body["messages"]):
        if unknown := sorted(message.keys() - known):
            detail = {"type": "extra_forbidden", "loc": ["body", "messages", place, "assistant", unknown[0]]}
            return 422, {"object": "error", "message": {"detail": [detail | {"msg": "Extra inputs are not permitted"}]}}
        if message["role"] == "assistant" and not isinstance(message.get("content"), list):
            return _error("thinking chunks are missing")
    return None


def empty_content(body: Tree) -> Refusal | None:
    """Bedrock behind a gateway."""
    has_empty = any(message.get("content") == "" for message in body["messages"])
    return _error("messages: text content blocks must be non-empty") if has_empty else None


def null_content(body: Tree) -> Refusal | None:
    """A server whose schema has content as a text, that may be left out."""
    for place, message in enumerate(body["messages"]):
        if "content" in message and not message["content"]:
            detail = [{"type": "string_type", "loc": ["body", "messages", place, "content"], "msg": "Input should be"}]
            return 422, {"detail": detail}
    return None


def no_content(body: Tree) -> Refusal | None:
    """A server that wants a text beside calls, and takes an empty one."""
    for place, message in enumerate(body["messages"]):
        if not isinstance(message.get("content"), str):
            return _error("'content' field is required and must be a string", param=f"messages[{place}].content")
    return None


def system(body: Tree) -> Refusal | None:
    """Gemma 2's template behind llama.cpp."""
    has_system = any(message["role"] == "system" for message in body["messages"])
    return _error("Jinja Exception: System role not supported", 500) if has_system else None


def order(body: Tree) -> Refusal | None:
    """Mistral: the model's turn comes after a tool's."""
    roles = [message["role"] for message in body["messages"] if message["role"] != "system"]
    for before, role in itertools.pairwise(roles):
        if role == "user" and before in ("user", "tool"):
            text = f"Unexpected role 'user' after role '{before}'"
            return 400, {"object": "error", "message": text, "type": "invalid_request_message_order", "code": "3230"}
    return None


def effort(body: Tree) -> Refusal | None:
    """GPT-5.6 at Chat Completions."""
    if body.get("temperature", 1) != 1:
        text = "Unsupported value: 'temperature' does not support 0.0 with this model."
        return _error(text, param="temperature", code="unsupported_value")
    if not body.get("tools") or body.get("reasoning_effort") == "none":
        return None
    text = "Function tools with reasoning_effort are not supported for gpt-5.6 in /v1/chat/completions. To use function"
    return _error(f"{text} tools, use /v1/responses or set reasoning_effort to 'none'.", param="reasoning_effort")


def schemas(body: Tree) -> Refusal | None:
    """A server of Gemini's first endpoints, which know few words of JSON schema."""
    for word in ("strict", "additionalProperties"):
        if f'"{word}"' in json.dumps(body.get("tools", [])):
            text = f"Invalid JSON payload received. Unknown name \"{word}\" at 'tools[0].function_declarations[0]'"
            return 400, [{"error": {"code": 400, "message": text, "status": "INVALID_ARGUMENT"}}]
    return None


def nameless_schemas(body: Tree) -> Refusal | None:
    """A server that does not say what it does not like about the tools."""
    return _error("Invalid value: tools", param="tools") if "additionalProperties" in json.dumps(body) else None


def nine_letters(body: Tree) -> Refusal | None:
    """Mistral behind a router, which gives other ids than Mistral takes."""
    for _, _, call in _calls(body):
        if len(call["id"]) != 9:
            text = f"Tool call id was {call['id']} but must be a-z, A-Z, 0-9, with a length of 9."
            return 400, {"object": "error", "message": text, "type": "invalid_function_call", "code": "3280"}
    return None


def kimi_ids(body: Tree) -> Refusal | None:
    bad = [call for _, _, call in _calls(body) if not call["id"].startswith("functions.")]
    return _error("tool_call_id is not one that was given") if bad else None


def streams(body: Tree) -> Refusal | None:
    return None if body.get("stream") else (400, {"detail": "Stream must be set to true"})


def takes_all(body: Tree) -> Refusal | None:
    return None


def bend(quirk: str, answer: Tree, number: int) -> Tree:
    """Return an answer with what a server of this quirk gives beside it."""
    message = answer["choices"][0]["message"]
    calls = message.get("tool_calls") or []
    for place, call in enumerate(calls):
        if quirk == "signature" and place == 0:
            call["extra_content"] = {"google": {"thought_signature": f"signature{number}"}}
        elif quirk == "function_signature":
            call["id"] = f"call{number}_{place}__s__{'x' * 3000}"
            call["function"]["thought_signature"] = "abc"
        elif quirk == "kimi_ids":
            call["id"] = f"functions.{call['function']['name']}:{number + place}"
        elif quirk == "repeated_ids":
            call["id"] = f"functions.{call['function']['name']}:{place}"
        elif quirk == "no_ids":
            call["id"] = ""
        elif quirk == "nine_letters":
            call["id"] = f"toolu_{number}_{place}"
    if quirk in ("reasoning", "routed_reasoning"):
        message["reasoning_content"] = "First a passage, then a search."
    if quirk == "routed_reasoning":
        message["reasoning_details"] = [{"type": "reasoning.encrypted", "data": f"data{number}"}]
    if quirk == "chunks":
        parts: list[dict[str, Any]] = [{"type": "thinking", "thinking": [{"type": "text", "text": "A search."}]}]
        message["content"] = parts + ([{"type": "text", "text": message["content"]}] if message["content"] else [])
    return answer


QUIRKS: Mapping[str, Callable[[Tree], Refusal | None]] = {
    check.__name__: check
    for check in (
        signature, function_signature, reasoning, routed_reasoning, chunks, empty_content, null_content, no_content,
        system, order, effort, schemas, nameless_schemas, nine_letters, kimi_ids, streams,
    )
} | {"repeated_ids": takes_all, "no_ids": takes_all, "unasked_streams": takes_all}  # fmt: skip


def as_stream(answer: Tree) -> bytes:
    """Return the answer in pieces, as a server streams it."""
    choice = answer["choices"][0]
    message = choice["message"]
    deltas: list[Tree] = [{"role": "assistant", "content": ""}]
    content = message.get("content") or ""
    deltas += [{"content": content[at : at + 7]} for at in range(0, len(content), 7)]
    for index, call in enumerate(message.get("tool_calls") or []):
        function, arguments = call["function"], call["function"]["arguments"]
        deltas.append({"tool_calls": [call | {"index": index, "function": function | {"arguments": ""}}]})
        pieces = (arguments[at : at + 5] for at in range(0, len(arguments), 5))
        deltas += [{"tool_calls": [{"index": index, "function": {"arguments": piece}}]} for piece in pieces]
    events: list[Tree] = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    events.append({"choices": [], "usage": answer["usage"]})
    lines = [f"data: {json.dumps(event)}\n\n" for event in events]
    return "".join([": keep-alive\n\n", *lines, "data: [DONE]\n\n"]).encode()


@contextmanager
def strict(upstream: str, quirk: str) -> Iterator[tuple[str, list[Tree]]]:
    """Yield the address of the proxy, with `/v1`, and the refusals that it has sent."""
    refusals: list[Any] = []
    numbers = itertools.count()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None: ...

        def do_GET(self) -> None:
            self._send(*self._forward(None))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if refusal := QUIRKS[quirk](body):
                refusals.append(refusal)
                status, tree = refusal
                return self._send(status, json.dumps(tree).encode())
            is_stream = body.pop("stream", False) or quirk == "unasked_streams"
            body.pop("stream_options", None)
            for message in body["messages"]:
                if isinstance(content := message.get("content"), list):
                    message["content"] = "".join(part.get("text", "") for part in content)
            code, raw = self._forward(json.dumps(body).encode())
            if code == 200:
                answer = bend(quirk, json.loads(raw), next(numbers))
                raw = as_stream(answer) if is_stream else json.dumps(answer).encode()
            return self._send(code, raw)

        def _forward(self, body: bytes | None) -> tuple[int, bytes]:
            request = urllib.request.Request(upstream + self.path, body, {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request) as answer:
                    return answer.status, answer.read()
            except urllib.error.HTTPError as error:
                return error.code, error.read()

        def _send(self, code: int, raw: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", "text/event-stream" if raw.startswith(b": ") else "application/json")
            self.send_header("Content-Length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

    class Server(ThreadingHTTPServer):
        request_queue_size = 128

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1", refusals
        finally:
            server.shutdown()
            thread.join()
