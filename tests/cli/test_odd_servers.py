"""Runs against servers that put calls and answers in odd places make the same pairs as without.

`pytest -m slow tests/cli/test_odd_servers.py` does it on Wikipedia.
"""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipeline.store.journal import Journal
from tests.cli.conftest import run_well
from tests.odd_server import QUIRKS, odd
from tests.server_process import serving

TINY = "tiny --retriever bm25 --seeds 6 --no-flow --steps 1-3 --seed 2"
WIKI = "wiki --retriever bm25 --seeds 8 --no-flow --steps 2"


def generate_pairs(out: Path, settings: str, url: str) -> tuple[dict[str, tuple[str, str, str]], int]:
    """Run against a server. Return how each seed ended, and how many of the calls were repaired."""
    run_well("generate", *settings.split(), "--out", out, "--model", "openai:embedded", "--base-url", url)
    journal = Journal(out / settings.split()[0] / "latest" / "journal")
    records = {key: journal.read(key) for key in journal.entries}
    endings = {
        key: (record.status.value, *((record.draft.question, record.draft.answer) if record.draft else ("", "")))
        for key, record in records.items()
    }
    return endings, sum(len(re.findall(r'"repaired":true', record.model_dump_json())) for record in records.values())


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with serving("serve-model") as (_, url):
        yield url.removesuffix("/v1")


@pytest.mark.slow
def test_odd_servers_give_the_same_pairs(upstream: str, tmp_path: Path) -> None:
    """Give each answer another quirk."""
    plain, repaired = generate_pairs(tmp_path / "plain", TINY, f"{upstream}/v1")
    assert repaired == 0
    assert sum(status == "accepted" for status, *_ in plain.values()) >= 2
    with odd(upstream, *QUIRKS) as url:
        ended, repaired = generate_pairs(tmp_path / "odd", TINY, url)
    assert ended == plain
    assert repaired > 20


@pytest.mark.slow
@pytest.mark.parametrize("quirk", QUIRKS)
def test_odd_servers_give_the_same_pairs_of_wikipedia(quirk: str, upstream: str, tmp_path: Path) -> None:
    plain, _ = generate_pairs(tmp_path / "plain", WIKI, f"{upstream}/v1")
    with odd(upstream, quirk) as url:
        ended, repaired = generate_pairs(tmp_path / "odd", WIKI, url)
    assert ended == plain
    assert (repaired > 0) == (quirk != "fenced"), "an answer in JSON is no call"
    assert sum(status == "accepted" for status, *_ in ended.values()) >= 2
