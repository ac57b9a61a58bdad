"""A run over three endpoints gives the same bytes as over one, even if two of them fail."""

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


async def run_and_export(corpus: Corpus, out: Path, *servers: FaultyServer) -> dict[str, bytes]:
    """Run and export; no seed may fail or be retried. Return records and shards."""
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


@pytest.mark.slow
async def test_a_dying_and_a_busy_endpoint_change_no_byte(
    tiny: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retry, "BASE", 0.01)

    def dies(number: int, body: dict[str, Any]) -> Reply | None:
        return Reply(cut=-1) if number >= GOOD else None

    def busy(number: int, body: dict[str, Any]) -> Reply | None:
        return Reply(429) if number // ANSWERS % 2 else None

    async with FaultyServer() as alone:
        straight = await run_and_export(tiny, tmp_path / "one", alone)
    async with FaultyServer() as steady, FaultyServer(script=dies) as dying, FaultyServer(script=busy) as throttled:
        outputs = await run_and_export(tiny, tmp_path / "three", steady, dying, throttled)
    assert outputs == straight
    # Both failed after they had answered.
    assert len(dying.asked) > GOOD
    assert len(throttled.asked) > ANSWERS
    assert len(steady.asked) + GOOD < len(alone.asked)
