"""If the teacher has no judge, pairs stay, every command says what they lack, and `complete` adds it."""

from pathlib import Path

import orjson
import pyarrow.parquet as pq
import pytest

from pipeline.demo.role_dispatch import DemoModel
from pipeline.llm import reach
from pipeline.llm.base import Completion, Request
from pipeline.run import prepare
from tests.cli.conftest import SMALL, Digsite

OPTIONS = (
    *SMALL, "--no-flow", "--model", "openai:m", "--base-url", "http://127.0.0.1:9/v1", "--pairs", "4",
    "--set", 'distractors.kinds=["doppelganger", "false_shortcut", "subjective_fallacy"]', "--set", "checks.enabled=[]",
    "--set", "distractors.rollouts=1", "--set", "teacher.rollouts=2", "--max-seeds", "24",
)  # fmt: skip


class Judged:
    """The demo model behind an endpoint's name; its teacher says more than was asked for, so that a judge must say
    whether that is right, which no judge can be read on while `bad`."""

    bad = True

    async def complete(self, request: Request) -> Completion:
        completion = await DemoModel().complete(request)
        if request.output and request.output.name == "verdict" and '"response":"it was ' in request.messages[1].content:
            response = "hm" if Judged.bad else '{"correct": true}'
            return completion.model_copy(
                update={"message": completion.message.model_copy(update={"content": response})}
            )
        if "mere opinion" not in request.messages[0].content or completion.message.tool_calls[0].name != "answer":
            return completion
        call = completion.message.tool_calls[0]
        answer = orjson.loads(call.arguments)["answer"]
        call = call.model_copy(update={"arguments": orjson.dumps({"answer": f"it was {answer}"}).decode()})
        return completion.model_copy(update={"message": completion.message.model_copy(update={"tool_calls": (call,)})})


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


@pytest.mark.slow
def test_missing_teacher_rollouts_are_reported_and_completed(digsite: Digsite, tmp_path: Path) -> None:
    generated = digsite("generate", "tiny", *OPTIONS, "--out", tmp_path, "--json").json
    folder = Path(generated["run"])
    assert generated["accepted"] == 4
    assert (generated["failed"], generated["missing"].keys()) == (0, {"teacher"})
    pair_count = generated["missing"]["teacher"]
    count_before, journal = count_teacher_rollouts(folder), (folder / "journal/main.jsonl").read_bytes()
    where = ("latest", "--out", tmp_path)
    notice = "ccepted pairs without all teacher rollouts"
    assert f"{notice}: {pair_count}" in digsite("inspect", *where).out
    assert notice in (folder / "report.html").read_text()
    assert notice in (folder / "dataset/README.md").read_text()

    assert digsite("complete", *where, "--json").json["missing"] == {"teacher": pair_count}
    Judged.bad = False
    output = digsite("complete", *where, "--json")
    assert (output.code, output.json["pairs"], output.json["completed"], output.json["missing"]) == (
        0,
        pair_count,
        pair_count,
        {},
    )
    assert count_teacher_rollouts(folder) > count_before
    assert notice not in (folder / "dataset/README.md").read_text()
    assert notice not in digsite("inspect", *where).out
    assert (folder / "journal/main.jsonl").read_bytes() == journal, "the journal keeps its one line for each seed"
    assert digsite("resume", *where, "--no-flow", "--json").json["missing"] == {}
    assert digsite("complete", *where, "--json").json["pairs"] == 0
