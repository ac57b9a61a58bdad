"""The recorded answers of a run by their positions, and the model that replays them."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import orjson
import zstandard

from pipeline.llm import ledger
from pipeline.llm.base import LLM, Completion, Request
from tests.golden.places import Places

HOME = Path(__file__).parent / "recorded"


class NotRecorded(AssertionError):
    """The loop asked for something that it did not ask for when the run was recorded."""


class Recorded:
    """Gives what was recorded; what was not, it has of `otherwise`, if there is one. Made for one run."""

    def __init__(self, answers: dict[str, Completion], otherwise: LLM | None = None) -> None:
        self.given: dict[str, Completion] = {}
        self.requests: list[Request] = []
        self._answers, self._otherwise, self._places = answers, otherwise, Places()

    async def complete(self, request: Request) -> Completion:
        place = self._places.place(request)
        self.requests.append(request)
        completion = self._answers.get(place)
        if completion is None and self._otherwise is not None:
            completion = await self._otherwise.complete(request)
        if completion is None:
            raise NotRecorded(f"no answer was recorded at '{place}'; record it: python -m tests.golden.record")
        self.given[place] = completion
        return completion


def read(name: str) -> dict[str, Completion]:
    path = HOME / f"{name}.jsonl.zst"
    lines = [orjson.loads(line) for line in read_packed_lines(path)] if path.exists() else []
    return {line["at"]: Completion.model_validate(line["answer"]) for line in lines}


def write(name: str, answers: dict[str, Completion]) -> None:
    lines = [
        orjson.dumps({"at": at, "answer": answers[at].model_dump(mode="json", exclude_defaults=True)})
        for at in sorted(answers)
    ]
    HOME.mkdir(exist_ok=True)
    (HOME / f"{name}.jsonl.zst").write_bytes(zstandard.ZstdCompressor(level=19).compress(b"\n".join(lines)))


def read_packed_lines(path: Path) -> list[bytes]:
    return zstandard.ZstdDecompressor().decompress(path.read_bytes()).splitlines()


def digests(requests: Iterable[Request]) -> dict[str, dict[str, object]]:
    """Return for each role the number of requests and a digest of each part of them, to see what changed."""
    by_role: dict[str, list[Request]] = {}
    for request in requests:
        by_role.setdefault(ledger.role(request), []).append(request)
    return {
        role: {"requests": len(role_requests), **_parts(role_requests)}
        for role, role_requests in sorted(by_role.items())
    }


def _parts(requests: list[Request]) -> dict[str, str]:
    trees = [request.model_dump(mode="json") for request in requests]
    parts = {
        "system": lambda tree: [message for message in tree["messages"] if message["role"] == "system"],
        "messages": lambda tree: [message for message in tree["messages"] if message["role"] != "system"],
        "offered": lambda tree: [tree["tools"], tree["tool_choice"], tree["output"]],
        "sampling": lambda tree: [tree["model"], tree["sampling"], tree["sample"]],
    }
    return {name: _digest(map(part, trees)) for name, part in parts.items()}


def _digest(values: Iterable[object]) -> str:
    lines = sorted(orjson.dumps(value, option=orjson.OPT_SORT_KEYS) for value in values)
    return hashlib.sha256(b"\n".join(lines)).hexdigest()[:16]
