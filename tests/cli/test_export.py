"""`export` as a user meets it: what it is told stays told."""

import shutil
from pathlib import Path

import orjson
import pytest

from pipeline.corpus import manifest
from tests.cli.conftest import Digsite


@pytest.fixture
def run(out: Path, tmp_path: Path) -> Path:
    shutil.copytree(out, tmp_path / "out", symlinks=True)
    return tmp_path / "out"


def test_gates_of_an_export_are_the_run_s_from_then_on(digsite: Digsite, run: Path) -> None:
    where = ("tiny", "--out", run)
    asked = digsite("inspect", *where, "--item", _accepted(digsite, where), "--json").json["rounds"][-1]["draft"]
    (run / "bench.jsonl").write_bytes(orjson.dumps({"question": asked["question"]}))
    view = ("--view", "qa, sft", "--include", "below_target,beyond_solver")
    assert digsite("export", *where, "--against", run / "bench.jsonl", *view).code == 0
    sheet = digsite("review", *where, "--json").json["sheet"]
    filled = Path(sheet).read_text().replace(",,,", ",yes,,")
    (run / "marked.csv").write_text(filled)
    assert digsite("review", *where, "--read", run / "marked.csv").code == 0
    dataset = run / "tiny/latest/dataset"
    manifest = orjson.loads((dataset / "manifest.json").read_bytes())
    assert (manifest["views"], manifest["include"]) == (["qa", "sft"], ["below_target", "beyond_solver"])
    for page in (dataset / "README.md", dataset.parent / "report.html"):
        assert "gate:contaminated" in page.read_text()
    assert any("contaminated" in item["reason"] for item in digsite("inspect", *where, "--json").json["items"])


def _accepted(digsite: Digsite, where: tuple[str | Path, ...]) -> str:
    items = digsite("inspect", *where, "--json").json["items"]
    return str(next(item["key"] for item in items if item["status"] == "accepted" and not item["reason"]))


def test_limits_of_gates_can_be_set_for_a_run_that_is_there(digsite: Digsite, run: Path) -> None:
    where = ("tiny", "--out", run)
    before = digsite("export", *where, "--json").json
    assert digsite("export", *where, "--set", "gates.quotas.strategy={sage=0.0}").code == 0
    assert "gate:quota" in (run / "tiny/latest/dataset/README.md").read_text()
    assert digsite("export", *where, "--set", "gates.quotas.strategy={sage=1.0}", "--json").json == before
    for wrong, told in (("loop.rounds=1", "can set gates alone"), ("gates.answer=1", "known: against, answers")):
        said = digsite("export", *where, "--set", wrong)
        assert (said.code, said.err.count("\n")) == (2, 1)
        assert told in said.err


def test_an_export_tells_no_other_prompt_than_its_rollouts_had(digsite: Digsite, run: Path) -> None:
    file = run / "tiny/latest/run.json"
    kept = orjson.loads(file.read_bytes())
    kept["what"]["prompts"]["solver/answer"] = "0" * 64
    file.write_bytes(orjson.dumps(kept))
    said = digsite("export", "tiny", "--out", run)
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "another prompt solver/answer" in said.err


def test_nothing_is_passed_on_without_the_manifest_that_may_forbid_it(
    digsite: Digsite, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(manifest, "ROOT", run)
    said = digsite("export", "tiny", "--out", run)
    assert (said.code, said.err.count("\n")) == (2, 1)
    assert "corpora/tiny.toml" in said.err
