"""`inspect` filters seeds, reads the table of the data set if it is current, and fits a small screen."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import console
from pipeline.cli.inspect import ITEM
from pipeline.store.journal import Journal
from pipeline.types import Record
from tests.cli.conftest import Digsite


@pytest.fixture
def listing(digsite: Digsite, out: Path) -> Any:
    return digsite("inspect", "tiny", "--out", out, "--json").json


def test_seeds_are_chosen_by_status_reason_target_and_words(digsite: Digsite, out: Path, listing: Any) -> None:
    reasons = {item["reason"] for item in listing["items"] if item["reason"]}
    words = next(item for item in listing["items"] if item["status"] == "accepted")["question"].split()
    filters = {
        ("--status", "accepted"): lambda item: item["status"] == "accepted",
        ("--status", "rejected,failed"): lambda item: item["status"] != "accepted",
        ("--reason", min(reasons)): lambda item: item["reason"] == min(reasons),
        ("--target", "1"): lambda item: item["target_steps"] == 1,
        ("--search", f'"{words[0]} {words[1]}" {words[-1]}'): lambda item: (
            f"{words[0]} {words[1]}" in (item["question"] or "") and words[-1] in item["question"]
        ),
    }
    for options, matches in filters.items():
        filtered = digsite("inspect", "tiny", "--out", out, *options, "--json").json
        assert filtered["items"] == [item for item in listing["items"] if matches(item)], options
        assert filtered["matching"] == len(filtered["items"]) > 0
        assert filtered["counts"] == listing["counts"]


def test_the_keys_of_the_json_are_those_that_are_promised(listing: Any) -> None:
    assert list(listing) == ["run", "counts", "spent", "matching", "items"]
    assert all(tuple(item) == ITEM for item in listing["items"])


def test_a_limit_cuts_the_list_and_says_so(digsite: Digsite, out: Path, listing: Any) -> None:
    limited = digsite("inspect", "tiny", "--out", out, "--limit", "2", "--json").json
    assert (limited["items"], limited["matching"]) == (listing["items"][:2], 8)
    output = digsite("inspect", "tiny", "--out", out, "--limit", "2")
    assert "2 of 8 seeds; for more: --limit 8" in output.err
    assert ": 8 seeds" in output.out.splitlines()[0]


def test_the_table_fits_80_columns_and_shows_questions_and_measured_steps(
    digsite: Digsite, out: Path, listing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "WIDE", 80)
    output = digsite("inspect", "tiny", "--out", out)
    assert max(map(len, output.out.splitlines()[1:])) <= 80
    pair = next(item for item in listing["items"] if item["status"] == "accepted")
    row = next(line for line in output.out.splitlines() if line.startswith(pair["key"][:12])).split()
    assert row[1:4] == ["accepted", str(pair["target_steps"]), str(pair["difficulty"])]
    assert row[4:6] == pair["question"].split()[:2]


def test_inspect_says_that_no_seed_matches(digsite: Digsite, out: Path) -> None:
    output = digsite("inspect", "tiny", "--out", out, "--search", "nosuchword")
    assert (output.code, output.out, output.err) == (0, "", "no seeds match\n")


def test_records_are_read_only_if_the_table_of_the_data_set_is_outdated(
    digsite: Digsite, run: Path, listing: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    inspect = ("inspect", "tiny", "--out", run, "--json")
    opened: list[str] = []

    class RecordingJournal(Journal):
        def read(self, key: str) -> Record:
            opened.append(key)
            return super().read(key)

    monkeypatch.setattr("pipeline.run.publish.Journal", RecordingJournal)
    assert digsite(*inspect).json["items"] == listing["items"]
    assert opened == []
    journal = run / "tiny/latest/journal/main.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]))
    output = digsite(*inspect)
    assert opened
    assert "has no readable line" in output.err
    assert len(output.json["items"]) == len(listing["items"]) - 1
