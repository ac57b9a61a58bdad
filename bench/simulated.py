"""Simulated endpoints in a process of their own: the demo model's answers, after a given latency.

`python -m bench.simulated LATENCY [FATE ...]` prints the address of one endpoint for each fate: `steady`, `dies:N`
(after N answers its port is closed), `busy:A:B` (it answers for A seconds and says 429 for B, in turns) or `loaded:N`
(see `bench.loaded`; it says 429 to more than N calls at once); without any there is one steady one.
A request of no role, such as those of `digsite doctor` and of `bench.pool`, has a fixed answer. `GET /stats` of an
endpoint gives what it has answered and when, `GET /bodies` its first requests.
"""

import asyncio
import re
import sys
import time
from typing import Any

import orjson
from pydantic import TypeAdapter

from bench.loaded import Load
from pipeline.embedded.model import EmbeddedModel
from pipeline.errors import ProviderError
from pipeline.serve import wire
from pipeline.serve.model import samples

KEPT = 500
REQUEST = TypeAdapter(wire.ChatRequest)
MODEL, SAMPLES = EmbeddedModel(), samples(0)


HOP = {"sub_question": "When was it lit?", "answer": "1874", "passage_id": "p", "quote": "It was lit in 1874."}
PROPOSED: dict[str, Any] = {
    "question": "When?",
    "answer": "1874",
    "answer_aliases": [],
    "answer_type": "number",
    "answer_precision": "",
}
PROPOSED |= {"family": "chain", "hops": [HOP, HOP]}


async def message(body: dict[str, Any]) -> dict[str, Any]:
    if "tools" not in body and "response_format" not in body:
        return {"role": "assistant", "content": "Brannick" if "keeper" in body["messages"][-1]["content"] else "yes"}
    if tools := [tool["function"]["name"] for tool in body.get("tools", ())]:
        canned = {"answer": "yes"} if tools == ["answer"] else PROPOSED if len(body["messages"]) == 1 else None
        if canned:
            function = {"name": tools[-1], "arguments": orjson.dumps(canned).decode()}
            calls = [{"id": "x", "type": "function", "function": function}]
            return {"role": "assistant", "content": "", "tool_calls": calls}
    request = wire.model_request(REQUEST.validate_python(body), SAMPLES[body["seed"]])
    found: dict[str, Any] = wire.chat_completion(await MODEL.complete(request), "m")["choices"][0]["message"]
    return found


class Endpoint:
    """One port: its fate, and what has come of it."""

    def __init__(self, latency: float, fate: str) -> None:
        self.latency = latency
        self.busy = self.busiest = self.throttled = 0
        self.times: list[float] = []
        """When each answer was sent, in seconds since 1970."""
        self.begun: list[float] = []
        """When the call that it answers came."""
        self.bodies: list[bytes] = []
        self.open: set[Connection] = set()
        self.tasks = set[asyncio.Future[None]]()
        name, *numbers = fate.split(":")
        self._most = int(numbers[0]) if name == "dies" else None
        self._answers, self._refuses = map(float, numbers) if name == "busy" else (1.0, 0.0)
        self.load = Load(latency, int(numbers[0])) if name == "loaded" else None

    async def listen(self) -> str:
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._clock = time.time() - self._began
        self._server = await self._loop.create_server(lambda: Connection(self), "127.0.0.1", 0, backlog=4096)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    def stats(self) -> dict[str, Any]:
        return {
            "answered": len(self.times), "busiest": self.busiest, "throttled": self.throttled, "times": self.times,
            "begun": self.begun, "cached": self.load.share if self.load else 0.5,
        }  # fmt: skip

    def refuses(self) -> bool:
        if self.load and self.busy >= self.load.limit:
            return True
        return (self._loop.time() - self._began) % (self._answers + self._refuses) >= self._answers

    def answered(self, began: float) -> None:
        self.begun.append(began + self._clock)
        self.times.append(self._loop.time() + self._clock)
        if len(self.times) == self._most:
            self._server.close()
            for connection in list(self.open):
                connection.close()


class Connection(asyncio.Protocol):
    """HTTP/1.1 as far as a client of ours goes: whole requests, one after another, kept alive."""

    def __init__(self, home: Endpoint) -> None:
        self._home = home

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._got = b""
        self._home.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._home.open.discard(self)

    def close(self) -> None:
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._got += data
        head, found, rest = self._got.partition(b"\r\n\r\n")
        if not found:
            return
        length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
        if len(rest) >= (wanted := int(length[1]) if length else 0):
            self._got = b""
            self._asked(head, rest[:wanted])

    def _asked(self, head: bytes, raw: bytes) -> None:
        home = self._home
        if head.startswith(b"GET"):
            bodies = b"/bodies" in head.split(b"\r\n")[0]
            self._send(orjson.dumps([body.decode() for body in home.bodies] if bodies else home.stats()))
            return
        if home.refuses():
            home.throttled += 1
            self._send(b'{"error": {"message": "slow down"}}', b"429 Too Many Requests")
            return
        home.busy += 1
        home.busiest = max(home.busiest, home.busy)
        if len(home.bodies) < KEPT:
            home.bodies.append(raw)
        task = asyncio.ensure_future(self._thought(raw))
        home.tasks.add(task)
        task.add_done_callback(home.tasks.discard)

    async def _thought(self, raw: bytes) -> None:
        """What it takes to find an answer is part of the latency, as long as it is shorter."""
        home, loop, body = self._home, asyncio.get_running_loop(), orjson.loads(raw)
        began = loop.time()
        cached, seconds = home.load.met(body, len(raw), home.busy) if home.load else (len(raw) // 2, home.latency)
        try:
            said = await message(body)
        except (ProviderError, ValueError) as error:
            home.busy -= 1
            self._send(repr(error).encode(), b"400 Bad Request")
            return
        usage = {
            "prompt_tokens": len(raw) // 4,
            "completion_tokens": 40,
            "total_tokens": len(raw) // 4 + 40,
            "prompt_tokens_details": {"cached_tokens": cached // 4},
            "completion_tokens_details": {"reasoning_tokens": 30},
        }
        reason = "tool_calls" if said.get("tool_calls") else "stop"
        choices = [{"index": 0, "message": said, "finish_reason": reason, "logprobs": None}]
        tree = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": choices, "usage": usage}
        loop.call_at(began + seconds, self._done, orjson.dumps(tree), began)

    def _done(self, body: bytes, began: float) -> None:
        self._home.busy -= 1
        if self._transport.is_closing():
            return
        self._send(body)
        self._home.answered(began)

    def _send(self, body: bytes, status: bytes = b"200 OK") -> None:
        kind = b"Content-Type: application/json\r\n"
        self._transport.write(b"HTTP/1.1 %b\r\n%bContent-Length: %d\r\n\r\n%b" % (status, kind, len(body), body))


async def serve(latency: float, *fates: str) -> None:
    print(*[await Endpoint(latency, fate).listen() for fate in fates or ("steady",)], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1]), *sys.argv[2:]))
