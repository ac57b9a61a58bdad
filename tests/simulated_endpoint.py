"""Simulated model endpoints in a process of their own: scripted replies after a given latency, at little cost.

`python -m tests.simulated_endpoint LATENCY [BEHAVIOUR ...]` prints the address of one endpoint for each behaviour:
`steady`, `dies:N` (closes its port after N answers), `busy:A:B` (answers for A seconds, then says 429 for B, in turns)
or `loaded:N` (slows down with load and says 429 to more than N calls at once). The default is one steady endpoint.

The script plays every role by rule: it follows titles from passage to passage, asks where they lead, and answers its
own questions, with misses and lucky guesses drawn by hash. It knows only the passages that it is sent. `GET /stats`
returns what an endpoint answered and when, `GET /bodies` its first requests.
"""

import asyncio
import re
import subprocess
import sys
import time
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import orjson

from pipeline.prompts import unfence
from pipeline.types import sha256

ROOT = Path(__file__).parents[1]
MAX_STORED_BODIES = 500
MAX_SEARCHES = 6
PREFILL, DECODE = 0.5, 0.5
"""Shares of the latency that go to reading a new prompt, and to writing the answer."""
MAX_CACHED_PREFIXES = 20_000
_DOCUMENT = re.compile(r"Doc \d+ \[(p[0-9a-f]{12})\] ([^\n]*)\n(.*)", re.DOTALL)
_ID = re.compile(r"\((p[0-9a-f]{12})\)")
_NAME = re.compile(r"[A-Z][\w'’.-]+(?: (?:of |the |de )?[A-Z][\w'’.-]+)*")


@contextmanager
def run_endpoints(latency: float, *behaviours: str) -> Iterator[str]:
    """Yield the address of each endpoint, separated by blanks."""
    command = [sys.executable, "-m", "tests.simulated_endpoint", str(latency), *behaviours]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout
    try:
        yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


def get_json(url: str, path: str) -> Any:
    return httpx2.get(url.replace("/v1", f"/{path}"), timeout=60).json()


class Load:
    """The speed of a server under load, like vLLM's: slower with more calls in flight, faster on a cached prefix.

    Two prompts share a prefix if their first messages are equal. The oldest prefixes are forgotten first.
    """

    def __init__(self, latency: float, limit: int) -> None:
        self._latency, self.limit = latency, limit
        self._prefixes: OrderedDict[int, None] = OrderedDict()
        self._characters = self._new_characters = 0

    def admit(self, body: dict[str, Any], size: int, in_flight: int) -> tuple[int, float]:
        """Return the bytes of the prompt that were cached, and the seconds until the answer."""
        prefix, characters, cached = 0, 0, 0
        for message in body["messages"]:
            text = f"{message['role']} {message.get('content')} {message.get('tool_calls')}"
            prefix, characters = hash((prefix, text)), characters + len(text)
            if prefix in self._prefixes:
                cached = characters
            self._prefixes[prefix] = None
            self._prefixes.move_to_end(prefix)
        while len(self._prefixes) > MAX_CACHED_PREFIXES:
            self._prefixes.popitem(last=False)
        self._characters += characters
        self._new_characters += characters - cached
        new_share = 1 - cached / max(1, characters)
        seconds = self._latency * (PREFILL * new_share + DECODE * (1 + in_flight / self.limit))
        return int(size * (1 - new_share)), seconds

    @property
    def cached_share(self) -> float:
        return 1 - self._new_characters / max(1, self._characters)


class Page(NamedTuple):
    id: str
    title: str
    text: str


class Trail(NamedTuple):
    """The evidence of a question: the titles to search for, in order, and the answer at their end."""

    titles: list[str]
    answer: str


class Script:
    """Answers request bodies. It remembers only the evidence of its own questions."""

    def __init__(self) -> None:
        self.trails: dict[str, Trail] = {}
        self.unworded: dict[tuple[str, ...], str] = {}
        """The questions of drafts that a writer will word, by the passages of their steps."""
        self.part_answers: dict[str, str] = {}

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        if "response_format" in body:
            return {"role": "assistant", "content": orjson.dumps(self._answer_schema(body)).decode()}
        if "tools" not in body:
            prompt = body["messages"][-1]["content"]
            return {"role": "assistant", "content": "Brannick" if "keeper" in prompt else "yes"}
        final_tool = body["tools"][-1]["function"]["name"]
        name, arguments = self._solve(body) if final_tool == "answer" else self._propose(body, final_tool)
        function = {"name": name, "arguments": orjson.dumps(arguments).decode()}
        calls = [{"id": "x", "type": "function", "function": function}]
        return {"role": "assistant", "content": "", "tool_calls": calls}

    def _answer_schema(self, body: dict[str, Any]) -> dict[str, Any]:
        """Answer as a judge or reader: judges accept, rivals do not fit, and a reader needs all of the evidence."""
        name = body["response_format"]["json_schema"]["name"]
        fixed: dict[str, dict[str, Any]] = {
            "verdict": {"reason": "", "correct": True},
            "weigh": {"reason": "", "fits": False},
            "steps": {"reason": "", "faults": []},
            "choose": {"faults": [], "grades": [5, 5, 5, 5], "best": 1},
        }
        if name in fixed:
            return fixed[name]
        inputs = unfence(body["messages"][-1]["content"]) or {}
        if name == "wordings":
            return {"wordings": [self.unworded[_passage_ids(step["asks"] for step in inputs["steps"])]]}
        if name == "trace":
            answers = [self.part_answers.get(part["question"], "unknown") for part in inputs["parts"]]
            return {"reason": "", "answers": answers}
        trail = self.trails.get(inputs.get("question", ""))
        titles = {passage["title"] for passage in inputs.get("passages", [])}
        has_evidence = trail is not None and titles >= set(trail.titles)
        return {"reason": "", "answer": trail.answer if trail and has_evidence else "unknown"}

    def _propose(self, body: dict[str, Any], final_tool: str) -> tuple[str, dict[str, Any]]:
        messages = body["messages"]
        has_question = "question" in body["tools"][-1]["function"]["parameters"]["properties"]
        if len(messages) == 1:
            trail = [Page("p1", "One", "Two"), Page("p2", "Two", "Three")]
            return final_tool, self._draft(trail, "doctor", has_question=has_question)
        inputs = unfence(messages[1]["content"]) or {}
        passages = inputs.get("seen") or [inputs["passage"]]
        pages = {page["id"]: Page(page["id"], page["title"], page["text"]) for page in passages}
        for message in messages[2:]:
            if message["role"] == "tool":
                matches = filter(None, map(_DOCUMENT.fullmatch, message["content"].split("\n\n")))
                pages |= {match[1]: Page(*match.groups()) for match in matches}
        turns, target = sum(message["role"] == "assistant" for message in messages), inputs["target_steps"]
        trail = _follow_titles(list(pages.values()), target)
        if len(trail) < target and turns < MAX_SEARCHES and body["tool_choice"] == "auto":
            return "search", {"query": _build_query(trail[-1], messages, turns)}
        return final_tool, self._draft(trail, f"{body['seed']} {messages[1]['content']}", has_question=has_question)

    def _draft(self, trail: list[Page], salt: str, *, has_question: bool) -> dict[str, Any]:
        end = trail[-1]
        number, sentence = _find_sentence(end.text, "")
        answer = max(sentence.split(), key=len).strip(".,;:()\"'")
        hops = [
            (f"Which one does {a.title} ({a.id}) name?", b.title, a.id, _find_sentence(a.text, b.title)[0])
            for a, b in pairwise(trail)
        ]
        hops.append((f"What is told of {end.title} ({end.id})?", answer, end.id, number))
        steps = [
            {"id": f"s{n}", "sub_question": question, "answer": hop_answer, "passage_id": passage_id,
             "sentences": [number], "needs": [f"s{n - 1}"] if n else []}
            for n, (question, hop_answer, passage_id, number) in enumerate(hops)
        ]  # fmt: skip
        # Two drafts of one trail are worded alike, whichever of them the writer words first.
        ids = _passage_ids(question for question, *_ in hops)
        mark = sha256(salt if has_question else " ".join(ids))[:10]
        question = f"Where does trail {mark} lead that begins in the passage of {trail[0].title}?"
        self.trails[question] = Trail([page.title for page in trail], answer)
        self.part_answers |= {part: part_answer for part, part_answer, *_ in hops}
        if has_question:
            return {"question": question, "steps": steps}
        self.unworded[ids] = question
        return {"steps": steps}

    def _solve(self, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        messages = body["messages"]
        question = messages[-1]["content"] if len(messages) == 2 else messages[1]["content"]
        trail = self.trails.get(question) or Trail([question], "nothing")
        draw = int(sha256(f"{question} {body['seed']}")[:2], 16) / 256
        titles = trail.titles[1 if draw > 0.9 and len(trail.titles) > 1 else 0 :]
        turns = sum(message["role"] == "assistant" for message in messages)
        if turns < len(titles) and body["tool_choice"] == "auto":
            return "search", {"query": titles[turns]}
        answer = "no idea" if draw < 0.2 else f"it is {trail.answer}" if draw < 0.4 else trail.answer
        return "answer", {"answer": answer}


def _follow_titles(pages: list[Page], target: int) -> list[Page]:
    """Build a trail from the first page, along titles that a page names and the page before it does not."""
    trail = [pages[0]]
    while len(trail) < target:
        current, previous_text = trail[-1], trail[-2].text if len(trail) > 1 else ""
        visited = {page.title for page in trail}
        linked = (p for p in pages if len(p.title) > 3 and p.title not in visited and p.title in current.text)
        page = next((p for p in linked if p.title not in previous_text), None)
        if page is None:
            break
        trail.append(page)
    return trail


def _passage_ids(sub_questions: Iterable[str]) -> tuple[str, ...]:
    return tuple(_ID.findall(" ".join(sub_questions)))


def _build_query(page: Page, messages: list[dict[str, Any]], turns: int) -> str:
    names = [name for name in dict.fromkeys(_NAME.findall(page.text)) if name not in page.title]
    past_calls = str([message.get("tool_calls") for message in messages])
    return next((name for name in names if name not in past_calls), f"{page.title} {turns}")


def _find_sentence(text: str, name: str) -> tuple[int, str]:
    """Return the first numbered sentence that holds a name, with its number; else the first one."""
    lines = [line.partition("] ")[2] or line for line in text.split("\n")]
    return next(((n, line) for n, line in enumerate(lines, 1) if name in line and len(line) > 20), (1, lines[0]))


class Endpoint:
    """One port with its behaviour and its counts."""

    def __init__(self, latency: float, script: Script, behaviour: str) -> None:
        self.latency, self.script = latency, script
        self.in_flight = self.busiest = self.throttled = 0
        self.end_times: list[float] = []
        """When each answer was sent, in seconds since 1970."""
        self.start_times: list[float] = []
        """When the call of each of these answers arrived."""
        self.bodies: list[bytes] = []
        self.open: set[Connection] = set()
        name, *numbers = behaviour.split(":")
        self._dies_after = int(numbers[0]) if name == "dies" else None
        self._answers, self._refuses = map(float, numbers) if name == "busy" else (1.0, 0.0)
        self.load = Load(latency, int(numbers[0])) if name == "loaded" else None

    async def listen(self) -> str:
        self._loop = asyncio.get_running_loop()
        self._opened = self._loop.time()
        self._clock = time.time() - self._opened
        self._server = await self._loop.create_server(lambda: Connection(self), "127.0.0.1", 0, backlog=4096)
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"

    def stats(self) -> dict[str, Any]:
        return {
            "answered": len(self.end_times), "busiest": self.busiest, "throttled": self.throttled,
            "start_times": self.start_times, "end_times": self.end_times,
            "cached": self.load.cached_share if self.load else 0.5,
        }  # fmt: skip

    def refuses(self) -> bool:
        if self.load and self.in_flight >= self.load.limit:
            return True
        return (self._loop.time() - self._opened) % (self._answers + self._refuses) >= self._answers

    def count_answer(self, start: float) -> None:
        self.start_times.append(start + self._clock)
        self.end_times.append(self._loop.time() + self._clock)
        if len(self.end_times) == self._dies_after:
            self._server.close()
            for connection in list(self.open):
                connection.close()


class Connection(asyncio.Protocol):
    """The part of HTTP/1.1 that our client uses: complete requests, one after another, on a connection kept alive."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._buffer = b""
        self._endpoint.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._endpoint.open.discard(self)

    def close(self) -> None:
        self._transport.close()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        head, separator, body = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        length = re.search(rb"content-length: *(\d+)", head, re.IGNORECASE)
        if len(body) >= (size := int(length[1]) if length else 0):
            self._buffer = b""
            self._handle_request(head, body[:size])

    def _handle_request(self, head: bytes, raw: bytes) -> None:
        endpoint, loop = self._endpoint, asyncio.get_running_loop()
        if head.startswith(b"GET"):
            wants_bodies = b"/bodies" in head.split(b"\r\n")[0]
            self._send(orjson.dumps([body.decode() for body in endpoint.bodies] if wants_bodies else endpoint.stats()))
            return
        if endpoint.refuses():
            endpoint.throttled += 1
            self._send(b'{"error": {"message": "slow down"}}', b"429 Too Many Requests")
            return
        endpoint.in_flight += 1
        endpoint.busiest = max(endpoint.busiest, endpoint.in_flight)
        if len(endpoint.bodies) < MAX_STORED_BODIES:
            endpoint.bodies.append(raw)
        start, body = loop.time(), orjson.loads(raw)
        cached, seconds = len(raw) // 2, endpoint.latency
        if endpoint.load:
            cached, seconds = endpoint.load.admit(body, len(raw), endpoint.in_flight)
        message = endpoint.script.answer(body)
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        usage = {
            "prompt_tokens": len(raw) // 4,
            "completion_tokens": 40,
            "total_tokens": len(raw) // 4 + 40,
            "prompt_tokens_details": {"cached_tokens": cached // 4},
            "completion_tokens_details": {"reasoning_tokens": 30},
        }
        choices = [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}]
        tree = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": choices, "usage": usage}
        loop.call_at(start + seconds, self._finish, orjson.dumps(tree), start)

    def _finish(self, body: bytes, start: float) -> None:
        self._endpoint.in_flight -= 1
        if self._transport.is_closing():
            return
        self._send(body)
        self._endpoint.count_answer(start)

    def _send(self, body: bytes, status: bytes = b"200 OK") -> None:
        kind = b"Content-Type: application/json\r\n"
        self._transport.write(b"HTTP/1.1 %b\r\n%bContent-Length: %d\r\n\r\n%b" % (status, kind, len(body), body))


async def serve(latency: float, *behaviours: str) -> None:
    script = Script()
    print(*[await Endpoint(latency, script, name).listen() for name in behaviours or ("steady",)], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1]), *sys.argv[2:]))
