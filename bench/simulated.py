"""Simulated endpoints in a process of their own: scripted replies after a given latency, as cheap as they can be.

`python -m bench.simulated LATENCY [FATE ...]` prints the address of one endpoint for each fate: `steady`, `dies:N`
(after N answers its port is closed), `busy:A:B` (it answers for A seconds and says 429 for B, in turns) or `loaded:N`
(see `bench.loaded`; it says 429 to more than N calls at once); without any there is one steady one. The script plays
every role by rule: it follows titles from passage to passage, asks about where they lead, and answers what it asked,
with misses and lucky guesses drawn by hash. It knows no corpus but what it is sent. `GET /stats` of an endpoint gives
what it has answered and when, `GET /bodies` its first requests.
"""

import asyncio
import re
import sys
import time
from collections.abc import Iterable
from itertools import pairwise
from typing import Any, NamedTuple

import orjson

from bench.loaded import Load
from pipeline.prompts import unfence
from pipeline.types import sha256

KEPT = 500
_DOC = re.compile(r"Doc \d+ \[(p[0-9a-f]{12})\] ([^\n]*)\n(.*)", re.DOTALL)
_ID = re.compile(r"\((p[0-9a-f]{12})\)")
_NAME = re.compile(r"[A-Z][\w'’.-]+(?: (?:of |the |de )?[A-Z][\w'’.-]+)*")
_MOST_SEARCHES = 6


class Page(NamedTuple):
    id: str
    title: str
    text: str


class Trail(NamedTuple):
    """What stands behind a question: the titles to look for, in order, and where they end."""

    titles: list[str]
    answer: str


class Script:
    """The message that answers a body. Holds what stands behind its questions and nothing else."""

    def __init__(self) -> None:
        self.trails: dict[str, Trail] = {}
        self.unworded: dict[tuple[str, ...], str] = {}
        """The questions of drafts that a writer is to word, by the passages that their steps ask about."""
        self.parts: dict[str, str] = {}
        """The answers of sub-questions."""

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        if "response_format" in body:
            return {"role": "assistant", "content": orjson.dumps(self._structured(body)).decode()}
        if "tools" not in body:
            asked = body["messages"][-1]["content"]
            return {"role": "assistant", "content": "Brannick" if "keeper" in asked else "yes"}
        last = body["tools"][-1]["function"]["name"]
        call = self._solved(body) if last == "answer" else self._proposed(body, last)
        name, arguments = call
        function = {"name": name, "arguments": orjson.dumps(arguments).decode()}
        return {
            "role": "assistant",
            "content": "",
            "tool_calls": [{"id": "x", "type": "function", "function": function}],
        }

    def _structured(self, body: dict[str, Any]) -> dict[str, Any]:
        """Judges say yes, rivals do not fit, who knows the end alone knows nothing and all is worded well; a reader
        knows the answer where it is given what stands behind it."""
        name = body["response_format"]["json_schema"]["name"]
        fixed: dict[str, dict[str, Any]] = {
            "verdict": {"correct": True},
            "weigh": {"fits": False},
            "steps": {"faults": []},
            "choose": {"faults": [], "grades": [5, 5, 5, 5], "best": 1},
        }
        if name in fixed:
            return fixed[name] if name == "choose" else {"reason": "", **fixed[name]}
        inputs = unfence(body["messages"][-1]["content"]) or {}
        if name == "wordings":
            return {"wordings": [self.unworded[_ids(step["asks"] for step in inputs["steps"])]]}
        if name == "trace":
            return {"reason": "", "answers": [self.parts.get(part["question"], "unknown") for part in inputs["parts"]]}
        trail = self.trails.get(inputs.get("question", ""))
        titles = {passage["title"] for passage in inputs.get("passages", [])}
        knows = trail is not None and titles >= set(trail.titles)
        return {"reason": "", "answer": trail.answer if trail and knows else "unknown"}

    def _proposed(self, body: dict[str, Any], last: str) -> tuple[str, dict[str, Any]]:
        messages = body["messages"]
        has_question = "question" in body["tools"][-1]["function"]["parameters"]["properties"]
        if len(messages) == 1:
            trail = [Page("p1", "One", "Two"), Page("p2", "Two", "Three")]
            return last, self._draft(trail, "doctor", has_question=has_question)
        inputs = unfence(messages[1]["content"]) or {}
        told = inputs.get("seen") or [inputs["passage"]]
        pages = {page["id"]: Page(page["id"], page["title"], page["text"]) for page in told}
        for message in messages[2:]:
            if message["role"] == "tool":
                found = filter(None, map(_DOC.fullmatch, message["content"].split("\n\n")))
                pages |= {match[1]: Page(*match.groups()) for match in found}
        made = sum(message["role"] == "assistant" for message in messages)
        trail = _trail(list(pages.values()), inputs["target_steps"])
        if len(trail) < inputs["target_steps"] and made < _MOST_SEARCHES and body["tool_choice"] == "auto":
            return "search", {"query": _query(trail[-1], messages, made)}
        return last, self._draft(trail, f"{body['seed']} {messages[1]['content']}", has_question=has_question)

    def _draft(self, trail: list[Page], chance: str, *, has_question: bool) -> dict[str, Any]:
        end = trail[-1]
        number, quote = _sentence(end.text, "")
        answer = max(quote.split(), key=len).strip(".,;:()\"'")
        found = [
            (f"Which one does {a.title} ({a.id}) name?", b.title, a.id, _sentence(a.text, b.title)[0])
            for a, b in pairwise(trail)
        ]
        found.append((f"What is told of {end.title} ({end.id})?", answer, end.id, number))
        steps = [
            {"id": f"s{n}", "sub_question": asked, "answer": said, "passage_id": passage_id, "sentences": [sentence],
             "needs": [f"s{n - 1}"] if n else []}
            for n, (asked, said, passage_id, sentence) in enumerate(found)
        ]  # fmt: skip
        # Two drafts of one trail are worded alike, whichever of them the writer is asked for first.
        ids = _ids(asked for asked, *_ in found)
        mark = sha256(chance if has_question else " ".join(ids))[:10]
        question = f"Where does trail {mark} lead that begins in the passage of {trail[0].title}?"
        self.trails[question] = Trail([page.title for page in trail], answer)
        self.parts |= {asked: answer for asked, answer, *_ in found}
        if has_question:
            return {"question": question, "steps": steps}
        self.unworded[ids] = question
        return {"steps": steps}

    def _solved(self, body: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        messages = body["messages"]
        question = messages[-1]["content"] if len(messages) == 2 else messages[1]["content"]
        trail = self.trails.get(question) or Trail([question], "nothing")
        draw = int(sha256(f"{question} {body['seed']}")[:2], 16) / 256
        skipped = 1 if draw > 0.9 and len(trail.titles) > 1 else 0
        titles = trail.titles[skipped:]
        made = sum(message["role"] == "assistant" for message in messages)
        if made < len(titles) and body["tool_choice"] == "auto":
            return "search", {"query": titles[made]}
        said = "no idea" if draw < 0.2 else f"it is {trail.answer}" if draw < 0.4 else trail.answer
        return "answer", {"answer": said}


def _trail(pages: list[Page], most: int) -> list[Page]:
    """From the first page, along titles that a page names and the page before it does not."""
    trail = [pages[0]]
    while len(trail) < most:
        here, before = trail[-1], trail[-2].text if len(trail) > 1 else ""
        known = {page.title for page in trail}
        onward = (p for p in pages if len(p.title) > 3 and p.title not in known and p.title in here.text)
        page = next((p for p in onward if p.title not in before), None)
        if page is None:
            break
        trail.append(page)
    return trail


def _ids(sub_questions: Iterable[str]) -> tuple[str, ...]:
    return tuple(_ID.findall(" ".join(sub_questions)))


def _query(page: Page, messages: list[dict[str, Any]], made: int) -> str:
    names = [name for name in dict.fromkeys(_NAME.findall(page.text)) if name not in page.title]
    asked = str([message.get("tool_calls") for message in messages])
    return next((name for name in names if name not in asked), f"{page.title} {made}")


def _sentence(text: str, name: str) -> tuple[int, str]:
    """Return the first numbered sentence that holds a name, with its number; else the first one."""
    lines = [line.partition("] ")[2] or line for line in text.split("\n")]
    return next(((n, line) for n, line in enumerate(lines, 1) if name in line and len(line) > 20), (1, lines[0]))


class Endpoint:
    """One port: its fate, and what has come of it."""

    def __init__(self, latency: float, script: Script, fate: str) -> None:
        self.latency, self.script = latency, script
        self.busy = self.busiest = self.throttled = 0
        self.times: list[float] = []
        """When each answer was sent, in seconds since 1970."""
        self.begun: list[float] = []
        """When the call that it answers came."""
        self.bodies: list[bytes] = []
        self.open: set[Connection] = set()
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
        home, loop = self._home, asyncio.get_running_loop()
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
        began, body = loop.time(), orjson.loads(raw)
        cached, seconds = home.load.met(body, len(raw), home.busy) if home.load else (len(raw) // 2, home.latency)
        message = home.script.answer(body)
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
    script = Script()
    print(*[await Endpoint(latency, script, fate).listen() for fate in fates or ("steady",)], flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1]), *sys.argv[2:]))
