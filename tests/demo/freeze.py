"""`python -m tests.demo.freeze [--afresh]`: keep a digest of the demo model's answers under its version.

The requests are a few of each role, taken from the golden runs by `--afresh`. Other answers need a higher VERSION.
"""

import asyncio
import hashlib
import sys
import tempfile
from itertools import groupby
from pathlib import Path

import orjson
import zstandard

from pipeline.demo import VERSION
from pipeline.demo.role_dispatch import DemoModel
from pipeline.demo.weak import WeakModel
from pipeline.llm.base import Request
from pipeline.llm.cached import request_digest
from tests.golden import recording, runs

HERE = Path(__file__).parent
REQUESTS, FROZEN = HERE / "requests.jsonl.zst", HERE / "answers.json"
REQUESTS_PER_ROLE = 6


def role(request: Request) -> str:
    return request.output.name if request.output else request.tools[-1].name


def read_requests() -> list[Request]:
    return [Request.model_validate_json(line) for line in recording.read_packed_lines(REQUESTS)]


def digest_answers(requests: list[Request]) -> str:
    async def answer_all() -> list[bytes]:
        model = DemoModel()
        return [(await model.complete(request)).model_dump_json(exclude_defaults=True).encode() for request in requests]

    return hashlib.sha256(b"\n".join(asyncio.run(answer_all()))).hexdigest()


def record_requests() -> None:
    requests: list[Request] = []
    for name in runs.RUNS:
        model = recording.Recorded({}, otherwise=WeakModel())  # its wrong answers reach the judge
        with tempfile.TemporaryDirectory() as out:
            runs.replay(name, Path(out), model)
        requests += model.requests
    requests.sort(key=lambda request: (role(request), request_digest(request)))
    chosen = [
        request for _, role_requests in groupby(requests, role) for request in list(role_requests)[:REQUESTS_PER_ROLE]
    ]
    lines = b"\n".join(request.model_dump_json().encode() for request in chosen)
    REQUESTS.write_bytes(zstandard.ZstdCompressor(level=19).compress(lines))


def main(*, afresh: bool) -> None:
    if afresh:
        record_requests()
    now = {"version": VERSION, "answers": digest_answers(read_requests())}
    frozen = orjson.loads(FROZEN.read_bytes()) if FROZEN.exists() else {"version": 0}
    if not afresh and now["answers"] != frozen.get("answers") and frozen["version"] >= VERSION:
        sys.exit(f"the answers have changed: raise VERSION in pipeline/demo/__init__.py above {frozen['version']}")
    FROZEN.write_bytes(orjson.dumps(now, option=orjson.OPT_INDENT_2 | orjson.OPT_APPEND_NEWLINE))


if __name__ == "__main__":
    main(afresh="--afresh" in sys.argv)
