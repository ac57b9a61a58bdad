"""`review` and `push` as a user meets them."""

import csv
from pathlib import Path

import orjson
import pytest
from huggingface_hub import constants

from tests import hub_server
from tests.cli.conftest import Digsite


def marked(sheet: Path, mark: str) -> Path:
    rows = list(csv.reader(sheet.open(newline="", encoding="utf-8-sig")))
    place = rows[0].index("right")
    for row in rows[1:]:
        row[place : place + 2] = [mark, mark]
    other = sheet.with_name("marked.csv")
    with other.open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows(rows)
    return other


def test_a_sheet_goes_out_and_comes_back_onto_card_and_page(digsite: Digsite, run: Path) -> None:
    said = digsite("review", "tiny", "--out", run, "--json").json
    sheet = Path(said["sheet"])
    assert said["items"] >= 1
    again = digsite("review", "tiny", "--out", run)
    assert again.code == 2
    assert "may hold marks" in again.err
    assert digsite("review", "tiny", "--read", sheet, "--out", run).code == 2, "nobody has marked it"
    read = digsite("review", "tiny", "--read", marked(sheet, "yes"), "--by", "Ada", "--out", run, "--json")
    assert read.code == 0
    assert read.json["precision"] == {"part": said["items"], "whole": said["items"]}
    card = (sheet.parent / "dataset/README.md").read_text()
    assert f"{said['items']} of {said['items']} (100%" in card
    assert f"{said['items']} of {said['items']} (100%" in (sheet.parent / "report.html").read_text()


@pytest.fixture
def real(run: Path) -> Path:
    """The run, as if a real model had made it."""
    path = run / "tiny/latest/run.json"
    tree = orjson.loads(path.read_bytes())
    tree["config"]["models"]["default"] = {"provider": "openai", "model": "qwen"}
    path.write_bytes(orjson.dumps(tree))
    return run


def test_push_says_what_it_sends_and_sends_it_where_told_to(
    digsite: Digsite, real: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.setenv("HF_TOKEN", "hf_sham")
    with hub_server.hub() as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        asked = digsite("push", "tiny", "--repo", "org/name", "--out", real)
        assert asked.code == 2
        assert "--yes" in asked.err
        assert server.commits == []
        (real / "tiny/latest/dataset/.env").write_text("OPENAI_API_KEY=sk-sham")
        said = digsite("push", "tiny", "--repo", "org/name", "--yes", "--out", real)
        assert said.code == 0
        assert all(path in said.out for path in server.commits[0]["added"])
        assert ".env" in said.err
        assert ".env" not in server.files["org/name"]
        assert "private" in said.out
        assert "qa" in said.out
        assert len(server.commits) == 1
        assert "hf_sham" not in said.out + said.err
