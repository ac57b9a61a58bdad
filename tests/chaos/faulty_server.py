"""A loopback server that speaks Chat Completions and breaks as real ones do, by a seeded schedule.

Behind it stands the demo model (or any other), read and written as the product's own server does, and given exactly
the messages that came over the wire: so the whole loop can be run through HTTP and compared with the one in process.
`python -m tests.chaos.faulty_server NOTES [RATE [SEED [FAULT ...]]]` serves in a process of its own, prints its address
and appends the digest of every request that it answered to NOTES; a RATE of `echo` answers 401 to everything, with the
key that it was sent, one of `repeat` says the key in every answer, one of `obey` does what the documents say. Without
a FAULT it has all of them; FAULTY_PORT is where it listens.
"""

import asyncio
import os
import random
import ssl
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from pydantic import TypeAdapter

from pipeline.demo.role_dispatch import DemoModel
from pipeline.errors import ProviderError
from pipeline.llm.base import LLM, Completion, Request
from pipeline.serve import chat_api
from pipeline.serve.demo_server import samples
from pipeline.types import ToolCall, sha256
from tests.chaos.obedient import Obedient

FAULTS = ("429", "429-after", "500", "502", "reset", "hang", "truncated", "html", "shape")
"""Those of every server; `huge` has to be asked for."""
TEN_MEGABYTES = 10_000_000
SAMPLES = samples(0)
REQUEST = TypeAdapter(chat_api.ChatRequest)
PAGE = b"<!DOCTYPE html><html><body><h1>Bad gateway</h1><script>alert(1)</script></body></html>"


class Reply(NamedTuple):
    status: int = 200
    body: bytes = b"{}"
    headers: tuple[tuple[str, str], ...] = ()
    cut: int | None = None
    """Close the connection after so many bytes of the body."""
    wait: float = 0.0


Script = Callable[[int, dict[str, Any]], Reply | dict[str, Any] | None]
"""The number of the request and its body → what to answer; None: what the model says."""


class FaultyServer:
    """`async with FaultyServer(...) as server`: then `server.url`. `asked` holds the bodies that came."""

    def __init__(
        self,
        *,
        model: LLM | None = None,
        rate: float = 0.0,
        seed: int = 0,
        script: Script | None = None,
        faults: Sequence[str] = FAULTS,
        port: int = 0,
        home: str = "",
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.model = model or DemoModel()
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.counts: Counter[str] = Counter()
        self.answered: Callable[[dict[str, Any]], None] = lambda body: None
        self.busy = self.busiest = self.connections = 0
        self.script, self.faults = script, faults
        self.models = Reply(body=orjson.dumps({"data": [{"id": "embedded", "max_model_len": 4096}]}))
        """To `GET /models`, which is not counted among what was `asked`."""
        self.targets: list[str] = []
        """Path and query of every request."""
        self._port, self._home, self._tls = port, home, tls
        """Paths that do not begin with `home` get a 404."""
        self._rate, self._chance = rate, random.Random(seed)

    async def __aenter__(self) -> "FaultyServer":
        self._server = await asyncio.start_server(
            self._handle_connection, "127.0.0.1", self._port, limit=1 << 24, ssl=self._tls
        )
        self.url = f"http{'s' * bool(self._tls)}://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()

    async def _handle_connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            while (head := await reader.readuntil(b"\r\n\r\n")) and await self._serve_request(head, reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _serve_request(self, head: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        lines = head.decode().split("\r\n")
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines[1:] if line)
        }
        raw = await reader.readexactly(int(headers.get("content-length", 0)))
        target = lines[0].split()[1]
        self.targets.append(target)
        if not target.startswith(self._home):
            return await _send_reply(Reply(404, b'{"detail": "Not Found"}'), writer)
        if lines[0].startswith("GET"):
            return await _send_reply(self.models, writer)
        body = orjson.loads(raw)
        self.asked.append(body)
        self.headers.append(headers)
        self.busy += 1
        self.busiest = max(self.busiest, self.busy)
        try:
            return await _send_reply(await self._reply(body), writer)
        finally:
            self.busy -= 1

    async def _reply(self, body: dict[str, Any]) -> Reply:
        scripted = self.script(len(self.asked) - 1, body) if self.script else None
        if scripted is not None:
            return scripted if isinstance(scripted, Reply) else Reply(body=orjson.dumps(scripted))
        fault = self._chance.choice(self.faults) if self._chance.random() < self._rate else ""
        self.counts[fault] += 1
        if fault and fault != "truncated":
            return _fault(fault)
        try:
            request = chat_api.model_request(REQUEST.validate_python(body), SAMPLES[body["seed"]])
            answer = orjson.dumps(chat_api.chat_completion(await self.model.complete(request), "embedded"))
        except ProviderError as error:
            return Reply(500, orjson.dumps({"error": {"message": str(error)}}))
        except ValueError as error:  # a request of no role of the product
            return Reply(400, orjson.dumps({"error": {"message": str(error)}}))
        if fault:
            return Reply(body=answer, cut=len(answer) // 2)
        self.answered(body)
        return Reply(body=answer)


def _fault(name: str) -> Reply:
    return {
        "429": Reply(429, b'{"error": {"message": "slow down", "type": "rate_limit", "code": null}}'),
        "429-after": Reply(429, b'{"error": {"message": "slow down"}}', (("Retry-After", "0.05"),)),
        "500": Reply(500, b"Internal Server Error"),
        "502": Reply(502, PAGE),
        "reset": Reply(cut=-1),
        "hang": Reply(wait=20.0, cut=-1),
        "html": Reply(200, PAGE),
        "shape": Reply(200, b'{"choices": [{"message": null}], "usage": 7}'),
        "huge": Reply(
            200, b'{"choices": [{"message": {"role": "assistant", "content": "%b"}}]}' % (b"x" * TEN_MEGABYTES)
        ),
    }[name]


async def _send_reply(reply: Reply, writer: asyncio.StreamWriter) -> bool:
    """Send a reply. Return False if its plan is to close the connection."""
    await asyncio.sleep(reply.wait)
    if reply.cut is not None and reply.cut < 0:
        writer.transport.abort()
        return False
    extra = "".join(f"{name}: {value}\r\n" for name, value in reply.headers)
    kind = "Content-Type: application/json\r\n"
    head = f"HTTP/1.1 {reply.status} X\r\n{kind}Content-Length: {len(reply.body)}\r\n{extra}\r\n"
    writer.write(head.encode() + reply.body[: reply.cut])
    await writer.drain()
    return reply.cut is None


def echo_key(server: FaultyServer) -> Script:
    """Make a script that answers with the key that it was sent."""

    def script(number: int, body: dict[str, Any]) -> Reply:
        key = server.headers[-1]["authorization"]
        return Reply(401, orjson.dumps({"error": {"message": f"no such key: {key}"}}), (("X-Key", key),))

    return script


class Repeating:
    """The demo model, which in every call says the key that its server was sent, and at times hides it."""

    def __init__(self, server: FaultyServer) -> None:
        self._server, self._inner = server, DemoModel()

    async def complete(self, request: Request) -> Completion:
        completion = await self._inner.complete(request)
        key, number = self._server.headers[-1]["authorization"].split()[-1], len(self._server.asked)
        shown_key = "\x1b[0m".join(key) if number % 97 == 60 else key
        message = completion.message
        calls = tuple(self._hide_key(call, key) if number % 19 == 0 else call for call in message.tool_calls)
        content = message.content if message.content.startswith("{") else f"{message.content} {shown_key}"
        message = message.model_copy(update={"content": content, "tool_calls": calls})
        return completion.model_copy(update={"message": message})

    def _hide_key(self, call: ToolCall, key: str) -> ToolCall:
        arguments = call.arguments
        if call.name == "search":
            arguments = arguments.replace('"query":"', f'"query":"{key} ').replace('"query": "', f'"query": "{key} ')
        return call.model_copy(update={"id": f"{call.id}-{key}", "arguments": arguments})


async def serve(notes: Path, rate: str = "0", seed: str = "0", *faults: str) -> None:
    file = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    port = int(os.environ.get("FAULTY_PORT", "0"))
    share = 0.0 if rate in ("echo", "repeat", "obey") else float(rate)
    async with FaultyServer(rate=share, seed=int(seed), faults=faults or FAULTS, port=port) as server:
        if rate == "obey":
            server.model = Obedient()
        server.answered = lambda body: ignore_result(os.write(file, digest(body).encode() + b"\n"))
        server.script = echo_key(server) if rate == "echo" else None
        if rate == "repeat":
            server.model = Repeating(server)
        print(server.url, flush=True)
        await asyncio.Event().wait()


def digest(body: dict[str, Any]) -> str:
    return sha256(orjson.dumps(body).decode())


def ignore_result(_: object) -> None:
    """Do nothing; used as a callback for unused results."""


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), *sys.argv[2:]))
