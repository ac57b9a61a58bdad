"""Each request of a conversation extends the previous one, so that a server can use its prefix cache."""

import json
from collections.abc import Iterator
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import pytest

from pipeline.store.journal import Journal
from tests.cli.conftest import Digsite, run_well
from tests.odd_server import odd
from tests.server_process import serving

TINY = "tiny --retriever bm25 --seeds 6 --no-flow --steps 1-3 --seed 2 --model openai:embedded".split()
Body = dict[str, Any]


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with serving("serve-model") as (_, url):
        yield url.removesuffix("/v1")


def conversations(bodies: list[Body]) -> list[list[Body]]:
    """Group requests that begin alike: the same tools, sample, system prompt and question, in the order of arrival."""
    groups: dict[str, list[Body]] = {}
    for body in bodies:
        beginning = list(takewhile(lambda message: message["role"] != "assistant", body["messages"]))
        groups.setdefault(json.dumps([body.get("tools"), body["seed"], beginning]), []).append(body)
    return list(groups.values())


def record_run(upstream: str, out: Path, *settings: str) -> list[Body]:
    bodies: list[Body] = []

    def record(body: Body) -> str:
        bodies.append(body)
        return ""

    with odd(upstream, refuses=record) as url:
        run_well("generate", *TINY, *settings, "--base-url", url, "--out", out)
    return bodies


@pytest.mark.slow
def test_a_run_never_rewrites_messages_that_it_has_sent(upstream: str, tmp_path: Path) -> None:
    bodies = record_run(upstream, tmp_path, "--concurrency", "1")
    pairs = [pair for conversation in conversations(bodies) for pair in pairwise(conversation)]
    assert len({len(body["messages"]) for _, body in pairs}) > 3
    for previous, body in pairs:
        assert body["messages"][: len(previous["messages"])] == previous["messages"]


@pytest.mark.slow
def test_cached_tokens_are_estimated_alike_at_any_concurrency(upstream: str, tmp_path: Path, digsite: Digsite) -> None:
    journals = {}
    for concurrency in ("1", "4"):
        out = tmp_path / concurrency
        record_run(upstream, out, "--concurrency", concurrency)
        journal = Journal(out / "tiny" / "latest" / "journal")
        journals[concurrency] = {key: journal.read(key).model_dump_json() for key in journal.entries}
    assert journals["1"] == journals["4"]
    spent = digsite("inspect", "tiny/latest", "--out", out, "--json").json["spent"]
    total = spent["total"]
    assert 0 < total["estimated_cached_prompt_tokens"] == total["cached_prompt_tokens"]
    for parts in ("stages", "models"):
        assert sum(part["cached_prompt_tokens"] for part in spent[parts].values()) == total["cached_prompt_tokens"]
    text = digsite("inspect", "tiny/latest", "--out", out).out
    assert f"≈{total['computed_prompt_tokens']:,}" in text
    assert "a server reports no cached tokens" in " ".join(text.split())
