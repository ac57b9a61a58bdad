"""If a server refuses requests, no refusal counts as an answer, and no solve rate is wrong."""

import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pipeline.agents.tool_mode import QUESTION
from pipeline.store.journal import Journal
from pipeline.types import Record
from tests.cli.conftest import Digsite
from tests.odd_server import odd
from tests.server_process import serving

RUN = "--retriever bm25 --no-flow --steps 1-3 --seed 2 --set models.default.limits.concurrency=1".split()


@pytest.fixture(scope="module")
def upstream() -> Iterator[str]:
    with serving("serve-model") as (_, url):
        yield url.removesuffix("/v1")


def is_rollout(body: dict[str, Any]) -> bool:
    """Return whether the solver asks, and not the probe before the run, which has one question."""
    tools = [tool["function"]["name"] for tool in body.get("tools", ())]
    return tools[-1:] == ["answer"] and QUESTION not in body["messages"][1]["content"]


def count_turns(body: dict[str, Any]) -> int:
    return sum(message["role"] == "assistant" for message in body["messages"])


def generate(digsite: Digsite, out: Path, url: str, seeds: int = 6) -> tuple[int, str, dict[str, Record]]:
    """Run against a server. Return exit code, stderr and records."""
    command = "generate", "tiny", *RUN, "--seeds", f"{seeds}", "--out", out, "--model", "openai:embedded"
    ended = digsite(*command, "--base-url", url)
    journal = Journal(out / "tiny" / "latest" / "journal")
    return ended.code, ended.err, {key: journal.read(key) for key in journal.entries}


def refuse_every_nth(number: int) -> Callable[[dict[str, Any]], str]:
    """Refuse one of so many requests of the solver."""
    counter = itertools.count(1)
    return lambda body: "not this one" if is_rollout(body) and next(counter) % number == 0 else ""


@pytest.mark.slow
def test_a_server_that_refuses_now_and_then_changes_no_byte(upstream: str, tmp_path: Path, digsite: Digsite) -> None:
    code, _, plain = generate(digsite, tmp_path / "plain", f"{upstream}/v1")
    with odd(upstream, refuses=refuse_every_nth(10)) as url:
        again = generate(digsite, tmp_path / "odd", url)
    assert (again[0], again[2]) == (code, plain)
    assert any(record.solve_rate for record in plain.values())
    card = (tmp_path / "odd" / "tiny" / "latest" / "dataset" / "README.md").read_text()
    assert "Requests that a server refused: " in card


@pytest.mark.slow
def test_conversations_that_are_refused_end_their_seeds_and_no_solve_rate(
    upstream: str, tmp_path: Path, digsite: Digsite
) -> None:
    _, _, plain = generate(digsite, tmp_path / "plain", f"{upstream}/v1", 9)
    with odd(upstream, refuses=lambda body: "too late" if is_rollout(body) and count_turns(body) > 1 else "") as url:
        code, _, records = generate(digsite, tmp_path / "odd", url, 9)
    assert code == 0
    assert records.keys() == plain.keys()
    ended = Counter((record.status.value, record.reason) for record in records.values())
    assert set(ended) == {("accepted", ""), ("failed", "refused")}
    assert all(record == plain[key] for key, record in records.items() if record.status == "accepted")


@pytest.mark.slow
def test_a_server_that_refuses_every_rollout_stops_the_run_and_owes_its_seeds(
    upstream: str, tmp_path: Path, digsite: Digsite
) -> None:
    words = "the message at position 2 must not be empty"
    with odd(upstream, refuses=lambda body: words if is_rollout(body) else "") as url:
        code, err, records = generate(digsite, tmp_path / "odd", url, 12)
    assert (code, records) == (1, {})
    (line,) = [line for line in err.splitlines() if line.startswith("digsite: ")]
    assert f'refused requests of 8 seeds in a row: "{url} refused a request (400: {words})"' in line
    mended, _, again = generate(digsite, tmp_path / "odd", f"{upstream}/v1", 12)
    assert (mended, len(again)) == (0, 12)
    assert not any(record.reason == "refused" for record in again.values())
