"""A run whose teacher has no judge: the pairs stay, every command says what they lack, and `complete` makes it up."""

from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest

from pipeline.demo.role_dispatch import DemoModel
from pipeline.llm import reach
from pipeline.llm.base import Completion, Request
from pipeline.run import prepare
from tests.cli.conftest import SMALL, Digsite

ASKED = (
    *SMALL, "--no-flow", "--model", "openai:m", "--base-url", "http://127.0.0.1:9/v1", "--pairs", "4",
    "--set", 'distractors.kinds=["doppelganger", "false_shortcut", "subjective_fallacy"]', "--set", "checks.enabled=[]",
    "--set", "distractors.rollouts=1", "--set", "teacher.rollouts=2", "--max-seeds", "24",
)  # fmt: skip


class Judged:
    """The demo model behind an endpoint's name; its teacher says more than was asked for, so that a judge must say
    whether that is right, which no judge can be read on while `bad`."""

    bad = True

    async def complete(self, request: Request) -> Completion:
        done = await DemoModel().complete(request)
        if request.output and request.output.name == "verdict" and '"response":"it was ' in request.messages[1].content:
            said = "hm" if Judged.bad else '{"correct": true}'
            return done.model_copy(update={"message": done.message.model_copy(update={"content": said})})
        if "mere opinion" not in request.messages[0].content or done.message.tool_calls[0].name != "answer":
            return done
        call = done.message.tool_calls[0]
        answer = orjson.loads(call.arguments)["answer"]
        call = call.model_copy(update={"arguments": orjson.dumps({"answer": f"it was {answer}"}).decode()})
        return done.model_copy(update={"message": done.message.model_copy(update={"tool_calls": (call,)})})


@pytest.fixture(autouse=True)
def endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    async def there(*_: object) -> str:
        return ""

    monkeypatch.setattr(prepare, "client", lambda model, seed: Judged())
    monkeypatch.setattr(reach, "_find_problem", there)
    monkeypatch.setattr(Judged, "bad", True)


def count_teacher_rollouts(folder: Path) -> int:
    rows = [row for path in (folder / "dataset/records").glob("*.parquet") for row in pq.read_table(path).to_pylist()]
    return sum(len(row["teacher_rollouts"]) for row in rows)


def test_what_a_run_lacks_is_told_and_made_up(digsite: Digsite, tmp_path: Path) -> None:
    made = digsite("generate", "tiny", *ASKED, "--out", tmp_path, "--json").json
    folder = Path(made["run"])
    assert made["accepted"] == 4
    assert (made["failed"], made["missing"].keys()) == (0, {"teacher"})
    lacking = made["missing"]["teacher"]
    there, journal = count_teacher_rollouts(folder), (folder / "journal/main.jsonl").read_bytes()
    where = ("latest", "--out", tmp_path)
    told = "ccepted pairs without all teacher rollouts"
    assert f"{told}: {lacking}" in digsite("inspect", *where).out
    assert told in (folder / "report.html").read_text()
    assert told in (folder / "dataset/README.md").read_text()

    assert digsite("complete", *where, "--json").json["missing"] == {"teacher": lacking}
    Judged.bad = False
    said = digsite("complete", *where, "--json")
    assert (said.code, said.json["pairs"], said.json["completed"], said.json["missing"]) == (0, lacking, lacking, {})
    assert count_teacher_rollouts(folder) > there
    assert told not in (folder / "dataset/README.md").read_text()
    assert told not in digsite("inspect", *where).out
    assert (folder / "journal/main.jsonl").read_bytes() == journal, "the journal keeps its one line for each seed"
    assert digsite("resume", *where, "--no-flow", "--json").json["missing"] == {}
    assert digsite("complete", *where, "--json").json["pairs"] == 0
