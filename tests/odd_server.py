"""A proxy in front of a server of ours that answers as servers without the right parser do, in a thread."""

import itertools
import json
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

QUIRKS = ("nested", "double", "reasoning", "text", "fenced")


def changed(answer: dict[str, Any], quirk: str, number: int) -> dict[str, Any]:
    """The answer as a server with that quirk gives it. `nested`: structures within arguments are JSON texts; `double`:
    arguments are encoded twice; `reasoning`: calls stand in the reasoning; `text`: in the content, in one of five forms
    in turn; `fenced`: an answer in JSON has words around it."""
    choice = answer["choices"][0]
    message = choice["message"]
    functions = [call["function"] for call in message.get("tool_calls") or []]
    if quirk == "fenced":
        if message["content"] and not functions:
            message["content"] = f"Here is the JSON:\n\n```json\n{message['content']}\n```\nLet me know."
        return answer
    for function in functions:
        given = json.loads(function["arguments"])
        if quirk == "nested":
            given = {name: json.dumps(part) if isinstance(part, list | dict) else part for name, part in given.items()}
        function["arguments"] = json.dumps(json.dumps(given) if quirk == "double" else given)
    if functions and quirk in ("reasoning", "text"):
        calls = [f'{{"name": "{call["name"]}", "arguments": {call["arguments"]}}}' for call in functions]
        message["tool_calls"], choice["finish_reason"] = [], "stop"
        tagged = "\n".join(f"<tool_call>\n{call}\n</tool_call>" for call in calls)
        if quirk == "reasoning":
            message |= {"content": None, "reasoning_content": f"I look this up.\n{tagged}"}
            return answer
        fenced = "\n\n".join(f"```json\n{call}\n```" for call in calls)
        message["content"] = [
            fenced, "\n".join(calls), f"Let me look this up.\n{fenced}", "\n".join(f"{call}\n```" for call in calls),
            tagged.removesuffix("</tool_call>"),
        ][number % 5]  # fmt: skip
    return answer


@contextmanager
def odd(upstream: str, *quirks: str, refuses: Callable[[dict[str, Any]], str] = lambda body: "") -> Iterator[str]:
    """The address of the proxy, with `/v1`; `upstream` is the server's. The quirks take turns. A request for which
    `refuses` has words is answered 400 with them."""
    numbers = itertools.count()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None: ...

        def do_GET(self) -> None:
            self._pass(None)

        def do_POST(self) -> None:
            self._pass(self.rfile.read(int(self.headers["Content-Length"])))

        def _pass(self, body: bytes | None) -> None:
            if body and (words := refuses(json.loads(body))):
                self._send(400, json.dumps({"error": {"message": words, "type": "invalid_request_error"}}).encode())
                return
            request = urllib.request.Request(upstream + self.path, body, {"Content-Type": "application/json"})
            try:
                with urllib.request.urlopen(request) as answer:
                    code, text = answer.status, answer.read()
            except urllib.error.HTTPError as error:
                code, text = error.code, error.read()
            if quirks and body and code == 200:
                turn, quirk = divmod(next(numbers), len(quirks))
                text = json.dumps(changed(json.loads(text), quirks[quirk], turn)).encode()
            self._send(code, text)

        def _send(self, code: int, text: bytes) -> None:
            self.send_response(code)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

    class Server(ThreadingHTTPServer):
        request_queue_size = 128

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            server.shutdown()
            thread.join()
