"""`review` and `push` as a user meets them."""

import csv
from pathlib import Path

import orjson
import pytest
from huggingface_hub import constants

from tests import hub_server
from tests.cli.conftest import Digsite


def mark_sheet(sheet: Path, mark: str) -> Path:
    rows = list(csv.reader(sheet.open(newline="", encoding="utf-8-sig")))
    column = rows[0].index("right")
    for row in rows[1:]:
        row[column : column + 2] = [mark, mark]
    marked_sheet = sheet.with_name("marked.csv")
    with marked_sheet.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return marked_sheet


def test_marks_of_a_review_sheet_reach_card_and_report(digsite: Digsite, run: Path) -> None:
    created = digsite("review", "tiny", "--out", run, "--json").json
    sheet = Path(created["sheet"])
    assert created["items"] >= 1
    repeated = digsite("review", "tiny", "--out", run)
    assert repeated.code == 2
    assert "may hold marks" in repeated.err
    assert digsite("review", "tiny", "--read", sheet, "--out", run).code == 2, "nobody has marked it"
    read = digsite("review", "tiny", "--read", mark_sheet(sheet, "yes"), "--by", "Ada", "--out", run, "--json")
    assert read.code == 0
    assert read.json["precision"] == {"part": created["items"], "whole": created["items"]}
    card = (sheet.parent / "dataset/README.md").read_text()
    assert f"{created['items']} of {created['items']} (100%" in card
    assert f"{created['items']} of {created['items']} (100%" in (sheet.parent / "report.html").read_text()


@pytest.fixture
def run_of_real_model(run: Path) -> Path:
    """Change the lineage of the run as if a real model had made it."""
    path = run / "tiny/latest/run.json"
    tree = orjson.loads(path.read_bytes())
    tree["config"]["models"]["default"] = {"provider": "openai", "model": "qwen"}
    path.write_bytes(orjson.dumps(tree))
    return run


def test_push_lists_and_sends_the_files(
    digsite: Digsite, run_of_real_model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setenv("HF_TOKEN", "hf_sham")
    with hub_server.hub() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        unconfirmed = digsite("push", "tiny", "--repo", "org/name", "--out", run_of_real_model)
        assert unconfirmed.code == 2
        assert "--yes" in unconfirmed.err
        assert server.commits == []
        (run_of_real_model / "tiny/latest/dataset/.env").write_text("OPENAI_API_KEY=sk-sham")
        output = digsite("push", "tiny", "--repo", "org/name", "--yes", "--out", run_of_real_model)
        assert output.code == 0
        assert all(path in output.out for path in server.commits[0]["added"])
        assert ".env" in output.err
        assert ".env" not in server.files["org/name"]
        assert "private" in output.out
        assert "qa" in output.out
        assert len(server.commits) == 1
        assert "hf_sham" not in output.out + output.err
