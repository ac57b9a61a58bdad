"""A run of a process that will be killed: `python -m tests.chaos.child OUT SEEDS [behaviour]`.

Each seed makes four calls, each of which asks about the answer before, to a model whose answers are never the same
twice; so a lost answer, or one that was asked for again, shows in the records. Every answer given is noted in
`OUT/paid`, and at the end the records are exported as a folder.
"""

import asyncio
import os
import random
import sys
import time
from pathlib import Path
from typing import Any

from pipeline.config import RunConfig
from pipeline.errors import DigsiteError
from pipeline.llm.base import Completion, Finish, Request
from pipeline.llm.cached import Cached, request_digest
from pipeline.llm.ledger import Counted
from pipeline.run import Run
from pipeline.store.cache import Cache
from pipeline.store.files import atomic_folder, atomic_write
from pipeline.types import Message, Record, Seed, Status, Usage, sha256
from tests.run.fakes import LINEAGE, Watch, config, corpus

CONCURRENCY = 16


class Model:
    """Costly: it writes down every answer that it gives."""

    def __init__(self, notes: Path) -> None:
        self.notes = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    async def complete(self, request: Request) -> Completion:
        await asyncio.sleep(random.random() * 0.006)
        os.write(self.notes, request_digest(request).hex().encode() + b"\n")
        answer = Message(role="assistant", content=os.urandom(8).hex())
        return Completion(message=answer, finish=Finish.STOP, usage=Usage(calls=1))


async def dig(seed: Seed, llm: Cached, behaviour: str) -> Record:
    if behaviour == "waits":
        await asyncio.sleep(60)
    if behaviour == "blocks":
        time.sleep(60)
    answer = seed.key
    for _ in range(4):
        request = Request(model="m", messages=(Message(role="user", content=answer),))
        answer = (await llm.complete(request)).message.content
    status = Status.ACCEPTED if int(sha256(answer)[:8], 16) < 0.4 * 2**32 else Status.REJECTED
    reason = "" if status is Status.ACCEPTED else answer
    return Record(key=seed.key, seed=seed, status=status, reason=reason, rounds=(), lineage=LINEAGE)


class Settings(RunConfig):
    """Without digests of prompts and code, which someone may edit while a long test goes on."""

    def what(self) -> dict[str, Any]:
        return self.model_dump(mode="json", exclude={"how"})


def main(out: Path, seeds: int, behaviour: str = "works") -> int:
    settings = Settings.model_validate(config(out, seeds=seeds, concurrency=CONCURRENCY).model_dump())
    model = Model(out / "paid")
    llm = Cached(Counted(model), Cache(out / "cache.sqlite"))
    with Run(settings, corpus()) as run:
        print("open", flush=True)
        asyncio.run(_execute(run, llm, behaviour))
        with atomic_folder(run.folder / "dataset") as folder:
            lines = [record.model_dump_json() for record in run.kept()]
            atomic_write(folder / "part", "\n".join(lines).encode())
            atomic_write(folder / "manifest", sha256("\n".join(lines)).encode())
    return 0


async def _execute(run: Run, llm: Cached, behaviour: str) -> None:
    await run.execute(lambda seed: dig(seed, llm, behaviour), Watch())


if __name__ == "__main__":
    try:
        sys.exit(main(Path(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]))
    except DigsiteError as error:
        print(error, file=sys.stderr)
        sys.exit(error.exit_code)
