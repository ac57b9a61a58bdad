"""`inspect` lists what is asked for, from the table of the data set where that tells all, and fits a small screen."""

from pathlib import Path
from typing import Any

import pytest

from pipeline.cli import console
from pipeline.cli.inspect import ITEM
from pipeline.store.journal import Journal
from pipeline.types import Record
from tests.cli.conftest import Digsite


@pytest.fixture
def listed(digsite: Digsite, out: Path) -> Any:
    return digsite("inspect", "tiny", "--out", out, "--json").json


def test_seeds_are_chosen_by_status_reason_target_and_words(digsite: Digsite, out: Path, listed: Any) -> None:
    reasons = {item["reason"] for item in listed["items"] if item["reason"]}
    words = next(item for item in listed["items"] if item["status"] == "accepted")["question"].split()
    chosen = {
        ("--status", "accepted"): lambda item: item["status"] == "accepted",
        ("--status", "rejected,failed"): lambda item: item["status"] != "accepted",
        ("--reason", min(reasons)): lambda item: item["reason"] == min(reasons),
        ("--target", "1"): lambda item: item["target_steps"] == 1,
        ("--search", f'"{words[0]} {words[1]}" {words[-1]}'): lambda item: (
            f"{words[0]} {words[1]}" in (item["question"] or "") and words[-1] in item["question"]
        ),
    }
    for options, wanted in chosen.items():
        found = digsite("inspect", "tiny", "--out", out, *options, "--json").json
        assert found["items"] == [item for item in listed["items"] if wanted(item)], options
        assert found["matching"] == len(found["items"]) > 0
        assert found["counts"] == listed["counts"]


def test_the_keys_of_the_json_are_those_that_are_promised(listed: Any) -> None:
    assert list(listed) == ["run", "counts", "spent", "matching", "items"]
    assert all(tuple(item) == ITEM for item in listed["items"])


def test_a_limit_cuts_the_list_and_says_so(digsite: Digsite, out: Path, listed: Any) -> None:
    found = digsite("inspect", "tiny", "--out", out, "--limit", "2", "--json").json
    assert (found["items"], found["matching"]) == (listed["items"][:2], 8)
    said = digsite("inspect", "tiny", "--out", out, "--limit", "2")
    assert "2 of 8 seeds; for more: --limit 8" in said.err
    assert ": 8 seeds" in said.out.splitlines()[0]


def test_the_table_fits_80_columns_and_shows_questions_and_measured_steps(
    digsite: Digsite, out: Path, listed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(console, "WIDE", 80)
    said = digsite("inspect", "tiny", "--out", out)
    assert max(map(len, said.out.splitlines()[1:])) <= 80
    pair = next(item for item in listed["items"] if item["status"] == "accepted")
    row = next(line for line in said.out.splitlines() if line.startswith(pair["key"][:12])).split()
    assert row[1:4] == ["accepted", str(pair["target_steps"]), str(pair["difficulty"])]
    assert row[4:6] == pair["question"].split()[:2]


def test_nothing_found_is_said(digsite: Digsite, out: Path) -> None:
    said = digsite("inspect", "tiny", "--out", out, "--search", "nosuchword")
    assert (said.code, said.out, said.err) == (0, "", "no seeds match\n")


def test_records_are_read_only_where_the_table_of_the_data_set_is_older(
    digsite: Digsite, run: Path, listed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    inspect = ("inspect", "tiny", "--out", run, "--json")
    opened: list[str] = []

    class Seen(Journal):
        def read(self, key: str) -> Record:
            opened.append(key)
            return super().read(key)

    monkeypatch.setattr("pipeline.run.publish.Journal", Seen)
    assert digsite(*inspect).json["items"] == listed["items"]
    assert opened == []
    journal = run / "tiny/latest/journal/main.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-1]))
    found = digsite(*inspect)
    assert opened
    assert "has no readable line" in found.err
    assert len(found.json["items"]) == len(listed["items"]) - 1
