"""A simulated endpoint in a process of its own: scripted replies after a given latency, as cheap as they can be.

`python -m bench.simulated LATENCY` prints its address. The script plays every role by rule: it follows titles
from passage to passage, asks about where they lead, and answers what it asked, with misses and lucky guesses drawn by
hash. It knows no corpus but what it is sent. `GET /stats` tells what it has answered, `GET /bodies` the first requests.
"""

import asyncio
import re
import sys
from itertools import pairwise
from typing import Any, NamedTuple

import orjson

from pipeline.prompts import unfence
from pipeline.types import sha256

KEPT = 500
_DOC = re.compile(r"Doc \d+ \[(p[0-9a-f]{12})\] ([^\n]*)\n(.*)", re.DOTALL)
_NAME = re.compile(r"[A-Z][\w'’.-]+(?: (?:of |the |de )?[A-Z][\w'’.-]+)*")
_SENTENCE = re.compile(r"[^.!?]+[.!?]?")
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
    """The message that answers a body. Holds the trails of its questions and nothing else."""

    def __init__(self) -> None:
        self.trails: dict[str, Trail] = {}

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        if "response_format" in body:
            return {"role": "assistant", "content": orjson.dumps(self._structured(body)).decode()}
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
        """Judges say yes and rivals do not fit; a reader knows the answer where it is given what stands behind it."""
        name = body["response_format"]["json_schema"]["name"]
        if name != "read":
            return {"reason": "the same", "correct": True} if name == "verdict" else {"reason": "", "fits": False}
        inputs = unfence(body["messages"][-1]["content"]) or {}
        trail = self.trails.get(inputs.get("question", ""))
        titles = {passage["title"] for passage in inputs.get("passages", [])}
        knows = trail is not None and titles >= set(trail.titles)
        return {"reason": "", "answer": trail.answer if trail and knows else "unknown"}

    def _proposed(self, body: dict[str, Any], last: str) -> tuple[str, dict[str, Any]]:
        messages = body["messages"]
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
        return last, self._draft(trail, inputs["answer_types"][0], f"{body['seed']} {messages[1]['content']}")

    def _draft(self, trail: list[Page], answer_type: str, chance: str) -> dict[str, Any]:
        hops = [
            {"sub_question": f"Which one does {a.title} name?", "answer": b.title, "passage_id": a.id,
             "quote": _sentence(a.text, b.title)}
            for a, b in pairwise(trail)
        ]  # fmt: skip
        end = trail[-1]
        quote = _sentence(end.text, "")
        answer = max(quote.split(), key=len).strip(".,;:()\"'")
        hops.append(
            {"sub_question": f"What is told of {end.title}?", "answer": answer, "passage_id": end.id, "quote": quote}
        )
        question = f"Where does trail {sha256(chance)[:10]} lead that begins in the passage of {trail[0].title}?"
        self.trails[question] = Trail([page.title for page in trail], answer)
        proposed = {"question": question, "answer": answer, "answer_type": answer_type, "hops": hops}
        return {**proposed, "answer_aliases": [], "answer_precision": "", "family": "chain"}

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


def _query(page: Page, messages: list[dict[str, Any]], made: int) -> str:
    names = [name for name in dict.fromkeys(_NAME.findall(page.text)) if name not in page.title]
    asked = str([message.get("tool_calls") for message in messages])
    return next((name for name in names if name not in asked), f"{page.title} {made}")


def _sentence(text: str, name: str) -> str:
    return next((s.strip() for s in _SENTENCE.findall(text) if name in s and len(s) > 20), text[:80]) or text[:80]


class Connection(asyncio.Protocol):
    """HTTP/1.1 as far as a client of ours goes: whole requests, one after another, kept alive."""

    script = Script()
    latency = 0.0
    answered = busy = busiest = 0
    first = last = 0.0
    bodies: list[bytes]

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport
        self._got = b""

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
        home, loop = Connection, asyncio.get_running_loop()
        if head.startswith(b"GET"):
            stats = {"answered": home.answered, "busiest": home.busiest}
            told = [body.decode() for body in home.bodies] if b"/bodies" in head.split(b"\r\n")[0] else stats
            self._send(orjson.dumps(told))
            return
        home.busy += 1
        home.busiest = max(home.busiest, home.busy)
        if len(home.bodies) < KEPT:
            home.bodies.append(raw)
        due = loop.time() + home.latency
        message = home.script.answer(orjson.loads(raw))
        reason = "tool_calls" if message.get("tool_calls") else "stop"
        usage = {"prompt_tokens": len(raw) // 4, "completion_tokens": 40, "total_tokens": len(raw) // 4 + 40}
        choices = [{"index": 0, "message": message, "finish_reason": reason, "logprobs": None}]
        tree = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": choices, "usage": usage}
        loop.call_at(due, self._done, orjson.dumps(tree))

    def _done(self, body: bytes) -> None:
        Connection.busy -= 1
        Connection.answered += 1
        self._send(body)

    def _send(self, body: bytes) -> None:
        kind = b"Content-Type: application/json\r\n"
        self._transport.write(b"HTTP/1.1 200 OK\r\n%bContent-Length: %d\r\n\r\n%b" % (kind, len(body), body))


async def serve(latency: float) -> None:
    Connection.latency, Connection.bodies = latency, []
    server = await asyncio.get_running_loop().create_server(Connection, "127.0.0.1", 0, backlog=4096)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(float(sys.argv[1])))
