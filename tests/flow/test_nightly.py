"""The flows of the deployments end in the right states, and leave the right files."""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import orjson
import pytest

from pipeline import config
from pipeline.flow import nightly
from pipeline.flow.server import QUIET
from pipeline.llm.ledger import Spending, Spent
from pipeline.run import attempts
from pipeline.run.result import RunResult
from pipeline.store.journal import Journal, encode
from pipeline.store.lock import hold_lock
from pipeline.types import Usage
from tests import hub_server
from tests.flow.conftest import Started

ROOT = Path(__file__).resolve().parents[2]
STATES = """
import json, sys
from pipeline.flow import nightly
nightly.DELAYS[:] = [0.5] * 40
for name, given in json.loads(sys.argv[1]):
    state = getattr(nightly, name)(**given, return_state=True)
    print(json.dumps([state.name, state.message]), flush=True)
"""


class State(NamedTuple):
    name: str
    message: str


def run_flows(server: Started, *flows: tuple[str, Mapping[str, object]], **env: str) -> list[State]:
    """Run these flows one after another in another process. Return the states in which they end."""
    base = {name: value for name, value in os.environ.items() if not name.startswith("PREFECT_")}
    command = [sys.executable, "-c", STATES, json.dumps(flows)]
    process = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        env={**base, **QUIET, **server.settings, **env},
        timeout=240,
        cwd=ROOT,
    )
    assert process.returncode == 0, process.stderr
    assert "hf_sham" not in process.stdout + process.stderr
    return [State(*json.loads(line)) for line in process.stdout.splitlines()]


def write_settings(folder: Path, **how: object) -> Path:
    """Write the settings of a cheap night over `tiny`."""
    path = folder / "night.toml"
    lines = [f"{name} = {json.dumps(value)}" for name, value in {"out": str(folder / "out"), **how}.items()]
    path.write_text(
        'steps = 1\ncorpus.name = "tiny"\nretrieval.retriever = "bm25"\nchecks.enabled = []\n'
        "loop = {rounds = 0, audit = false, rollouts = 2}\n[runtime]\n" + "\n".join(lines)
    )
    return path


@pytest.mark.slow
def test_a_night_by_workers_of_dask_makes_the_journal_of_one_process(server: Started, tmp_path: Path) -> None:
    pytest.importorskip("prefect_dask")
    journals = []
    for engine in ("dask", "local"):
        (folder := tmp_path / engine).mkdir()
        night = {"config": str(write_settings(folder, seeds=24, engine=engine))}
        (state,) = run_flows(server, ("grow", night))
        assert state.name == "Completed", state
        (run,) = {path.resolve().parent for path in (folder / "out").glob("tiny/*/run.json")}
        journals.append(Journal(run / "journal"))
    first, second = (
        {key: encode(entry.head, journal.read(key)) for key, entry in journal.entries.items()} for journal in journals
    )
    assert len(first) == 24
    assert first == second


@pytest.mark.slow
def test_a_budget_is_one_night_s_and_the_next_night_goes_on(server: Started, tmp_path: Path) -> None:
    budget = 100_000
    night = {"config": str(write_settings(tmp_path, pairs=900, budget_tokens=budget))}
    ended = run_flows(server, ("grow", night), ("grow", night))
    counts = []
    for state in ended:
        match = re.fullmatch(
            r"(\d+) of 900 pairs, (\d+) of them new; the budget of the night is used up, and the next run continues; "
            r"published: [\d,]+ rows in \d+ views in (/.*)/dataset",
            state.message,
        )
        assert match, state
        assert state.name == "Completed"
        counts.append((int(match[1]), int(match[2])))
    assert counts[0][0] == counts[0][1] > 0
    assert counts[1][0] == counts[0][0] + counts[1][1]
    folder = Path(match[3])
    paid = attempts.total_spending(folder).total.paid
    assert 2 * budget <= paid.prompt_tokens + paid.completion_tokens < 3 * budget
    assert {"dataset", "report.html"} <= {path.name for path in folder.iterdir()}
    assert Journal(folder / "journal").duplicates == 0


@pytest.mark.slow
def test_what_keeps_a_night_from_its_work_is_one_line(server: Started, tmp_path: Path) -> None:
    night = write_settings(tmp_path, seeds=4)
    down = tmp_path / "down.toml"
    down.write_text(
        night.read_text().replace(
            "[runtime]",
            '[models.default]\nprovider = "openai"\nmodel = "m"\nbase_url = "http://127.0.0.1:1"\n[runtime]',
        )
    )
    wrong = tmp_path / "wrong.toml"
    wrong.write_text("step = 3")
    (tmp_path / "out/tiny").mkdir(parents=True)
    with hold_lock(tmp_path / "out/tiny"):
        missing, mistake, unreachable, second, none = run_flows(
            server,
            ("grow", {"config": "nosuch.toml"}),
            ("grow", {"config": str(wrong)}),
            ("grow", {"config": str(down)}),
            ("grow", {"config": str(night)}),
            ("publish", {"run": str(tmp_path / "out/none")}),
        )
    assert re.fullmatch(r"no file of settings at /.*/nosuch.toml: the flow's `config` is .*", missing.message)
    assert "step" in mistake.message
    assert "127.0.0.1:1" in unreachable.message
    assert none.message.startswith("no run")
    assert {state.name for state in (missing, mistake, unreachable, none)} == {"Failed"}
    assert second.name == "Cancelled"
    assert second.message.startswith(f"another process (pid {os.getpid()} on ")
    assert not any("\n" in state.message for state in (missing, mistake, unreachable, second, none))


@pytest.fixture
def run_of_real_model(out: Path, tmp_path: Path) -> Path:
    """Change the lineage of a run as if a real model had made it."""
    shutil.copytree(out, tmp_path / "out", symlinks=True)
    folder = (tmp_path / "out/tiny/latest").resolve()
    tree = orjson.loads((folder / "run.json").read_bytes())
    tree["config"]["models"]["default"] = {"provider": "openai", "model": "qwen"}
    (folder / "run.json").write_bytes(orjson.dumps(tree))
    return folder


def mend_after_a_request(hub: hub_server.Hub) -> None:
    while not (hub.tokens or hub.gets):
        time.sleep(0.05)
    time.sleep(1)
    hub.refuse = 0


@pytest.mark.slow
def test_publish_asks_a_hub_again_that_fails_and_none_that_refuses(
    server: Started, out: Path, run_of_real_model: Path
) -> None:
    publication = {"run": str(run_of_real_model), "repo": "org/name"}
    with hub_server.hub() as hub:
        env = {"HF_ENDPOINT": hub.url, "HF_TOKEN": "hf_sham", "HF_HUB_DISABLE_XET": "1"}
        hub.refuse = 503
        threading.Thread(target=mend_after_a_request, args=(hub,), daemon=True).start()
        (published,) = run_flows(server, ("publish", publication), **env)
        assert re.fullmatch(r"published: .* rows in .*/dataset, http://127.*/org/name/commit/\w+", published.message)
        assert len(hub.commits) == 1
        assert hub.private == {"org/name": True}
        hub.refuse = 401
        rejected, demo = run_flows(
            server, ("publish", publication), ("publish", {**publication, "run": str(out / "tiny/latest")}), **env
        )
    assert "hf auth login, or HF_TOKEN" in rejected.message
    assert "demo model" in demo.message
    assert (published.name, rejected.name, demo.name) == ("Completed", "Failed", "Failed")


def test_the_deployments_name_flows_and_settings_that_are_there() -> None:
    from prefect.flows import load_flow_from_entrypoint

    text = (ROOT / "prefect.yaml").read_text()
    flows = [load_flow_from_entrypoint(str(ROOT / path)).name for path in re.findall(r"entrypoint: (\S+)", text)]
    assert flows == ["digsite-grow", "digsite-publish"]
    for path in re.findall(r"config: (\S+)", text):
        assert config.build(file=ROOT / path).runtime.pairs == 1000


def test_the_budget_of_a_night_counts_from_what_earlier_nights_used(monkeypatch: pytest.MonkeyPatch) -> None:
    used = Spent(paid=Usage(calls=1, prompt_tokens=500))
    monkeypatch.setattr(nightly, "total_spending", lambda folder: Spending(by_stage={"round 0": {"solver": used}}))
    tonight = nightly.add_spent_budget(config.build(values={"runtime": {"budget_tokens": 1000}}), Path("run"))
    assert tonight.runtime.budget_tokens == 1500


@pytest.mark.parametrize(
    ("runtime", "before", "line"),
    [
        ({"seeds": 600}, 2, "8 of 600 seeds gave 3 pairs, 1 of them new"),
        ({"pairs": 30}, 2, "3 of 30 pairs, 1 of them new"),
        ({"pairs": 30, "carried": 2}, None, "3 of 30 pairs, 1 of them new; 2 carried over, since the corpus changed"),
        ({"pairs": 30, "carried": 1}, 2, "3 of 30 pairs, 1 of them new"),
    ],
)
def test_the_state_of_a_night_says_how_far_it_came(runtime: dict[str, int], before: int | None, line: str) -> None:
    def build_result(accepted: int) -> RunResult:
        return RunResult(
            folder=Path("wiki/a"), planned=8, accepted=accepted, rejected=5, failed=0, reasons={}, surplus=0,
            dropped={}, complete=False, exhausted=False, missing={}, damaged=0,
        )  # fmt: skip

    previous = None if before is None else build_result(before)
    settings = config.build(values={"runtime": runtime})
    assert nightly.format_progress(build_result(3), previous, settings) == line


def test_a_night_that_begins_a_new_run_says_where_the_former_one_stays(tmp_path: Path) -> None:
    settings = config.build(values={"runtime": {"out": tmp_path, "name": "weekly"}})
    folder = settings.folder()
    former, next_version = folder.with_name("0123456789ab"), folder.with_name(f"{folder.name}-v2")
    for path in (former, next_version):
        path.mkdir(parents=True)
    counts = '{"planned": 9, "accepted": 7, "rejected": 2, "failed": 0, "reasons": {}, "surplus": 0, "dropped": {}, '
    (former / "result.json").write_text(
        counts + '"complete": true, "exhausted": false, "missing": {}, "damaged": 0}', encoding="utf-8"
    )
    assert nightly.describe_replaced(settings) == "", "the first night"
    (folder.parent / "weekly").symlink_to(former.name)
    assert "0123456789ab and its 7 pairs stay in" in nightly.describe_replaced(settings)
    (folder.parent / "weekly").unlink()
    (folder.parent / "weekly").symlink_to(next_version.name)
    assert nightly.describe_replaced(settings) == "", "a version of the same run"
