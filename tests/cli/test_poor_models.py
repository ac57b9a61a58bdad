"""If a model only chats, the run ends and says why, what helps, and what it cost."""

from pathlib import Path

import pytest

from pipeline.llm import reach
from pipeline.llm.base import Completion, Finish, Request
from pipeline.run import prepare
from pipeline.types import Message, Usage
from tests.cli.conftest import Digsite
from tests.scripted_llm import ScriptedLLM

OPTIONS = (
    "tiny", "--retriever", "bm25", "--steps", "2", "--model", "openai:m", "--base-url", "http://127.0.0.1:9/v1",
    "--set", "models.default.prices={prompt = 1, completion = 1}",
)  # fmt: skip


@pytest.fixture(autouse=True)
def chat(monkeypatch: pytest.MonkeyPatch) -> None:
    def say(request: Request) -> Completion:
        usage = Usage(calls=1, prompt_tokens=10_000, completion_tokens=10)
        return Completion(message=Message(role="assistant", content="Hm."), finish=Finish.STOP, usage=usage)

    async def there(*_: object) -> str:
        return ""

    monkeypatch.setattr(prepare, "client", lambda model, seed: ScriptedLLM(say))
    monkeypatch.setattr(reach, "_find_problem", there)


@pytest.mark.slow
def test_a_model_without_a_usable_question_sends_the_user_to_doctor(digsite: Digsite, tmp_path: Path) -> None:
    output = digsite("generate", *OPTIONS, "--pairs", "1", "--max-seeds", "2", "--out", tmp_path)
    assert output.code == 3
    assert "the model proposed no usable question: test it with digsite doctor --model" in output.err
    assert "fewer --steps" not in output.err
    items = digsite("inspect", "latest", "--out", tmp_path, "--json").json["items"]
    assert "ended by format errors" in digsite("inspect", "latest", "--out", tmp_path, "--item", items[0]["key"]).out


@pytest.mark.slow
def test_a_preview_reports_its_cost(digsite: Digsite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    last = [line for line in digsite("preview", *OPTIONS).err.splitlines() if line.startswith("done: ")]
    assert "8 seeds" in last[0]
    assert "cost 0.00" not in last[0]


@pytest.mark.slow
def test_generate_reuses_the_answers_that_a_preview_paid_for(
    digsite: Digsite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    preview = digsite("preview", *OPTIONS)
    assert "index and paid answers are kept in outputs" in preview.err

    def refuse_request(request: Request) -> Completion:
        raise AssertionError("asked again")

    monkeypatch.setattr(prepare, "client", lambda model, seed: ScriptedLLM(refuse_request))
    output = digsite("generate", *OPTIONS, "--pairs", "1", "--max-seeds", "3", "--no-flow")
    assert output.code == 3, output.err
