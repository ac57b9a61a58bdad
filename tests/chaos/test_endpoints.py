"""A whole run and its export over three endpoints of one model: the same bytes as over one, whatever becomes of two."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.config import build
from pipeline.corpus import Corpus
from pipeline.llm import retry
from pipeline.loop.episode import run_seed
from pipeline.run import Run, prepare, publish
from tests.chaos.faulty_server import FaultyServer, Reply
from tests.chaos.test_endpoint import SETTINGS
from tests.run.fakes import RunCallbacks

SEEDS = 12
GOOD, ANSWERS = 5, 4
"""The answers of the one that dies, and those of the busy one between two stretches of as many 429s."""


async def made(corpus: Corpus, out: Path, *servers: FaultyServer) -> dict[str, bytes]:
    """The records and shards of a run in which no seed failed or went back to the queue."""
    limits = {"timeout_seconds": 2.0, "concurrency": 8}
    urls = [server.url for server in servers]
    model = {"provider": "openai", "model": "embedded", "base_urls": urls, "limits": limits}
    config = build(values={**SETTINGS, "models": {"default": model}, "runtime": {"out": out, "seeds": SEEDS}})
    context, watch = prepare.context(config, corpus), RunCallbacks()
    with Run(config, corpus) as run:
        result = await run.execute(lambda seed: run_seed(seed, context), watch)
        records = b"\n".join(record.model_dump_json().encode() for record in run.records())
    assert (result.planned, result.failed, result.complete) == (SEEDS, 0, True)
    assert not watch.troubles
    publish.dataset(config.folder(), config)
    dataset = config.folder() / "dataset"
    shards = {str(path.relative_to(dataset)): path.read_bytes() for path in dataset.rglob("*.parquet")}
    assert shards
    return {**shards, "records": records}


async def test_one_that_dies_and_one_that_is_busy_change_no_byte(
    tiny: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "BASE", 0.01)

    def dies(number: int, body: dict[str, Any]) -> Reply | None:
        return Reply(cut=-1) if number >= GOOD else None

    def busy(number: int, body: dict[str, Any]) -> Reply | None:
        return Reply(429) if number // ANSWERS % 2 else None

    async with FaultyServer() as alone:
        straight = await made(tiny, tmp_path / "one", alone)
    async with FaultyServer() as steady, FaultyServer(script=dies) as dying, FaultyServer(script=busy) as throttled:
        found = await made(tiny, tmp_path / "three", steady, dying, throttled)
    assert found == straight
    # Each has met its fate, and had answered before.
    assert len(dying.asked) > GOOD
    assert len(throttled.asked) > ANSWERS
    assert len(steady.asked) + GOOD < len(alone.asked)
