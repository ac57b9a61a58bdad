"""A model that only chats: the run ends, says why, what helps, and what it cost."""

from pathlib import Path

import pytest

from pipeline.llm import reach
from pipeline.llm.base import Completion, Finish, Request
from pipeline.run import prepare
from pipeline.types import Message, Usage
from tests.cli.conftest import Digsite
from tests.scripted import ScriptedLLM

ASKED = (
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


def test_a_model_that_asks_nothing_is_to_be_examined(digsite: Digsite, tmp_path: Path) -> None:
    said = digsite("generate", *ASKED, "--pairs", "1", "--max-seeds", "2", "--out", tmp_path)
    assert said.code == 3
    assert "the model proposed no usable question: test it with digsite doctor --model" in said.err
    assert "fewer --steps" not in said.err
    items = digsite("inspect", "latest", "--out", tmp_path, "--json").json["items"]
    assert "ended by format errors" in digsite("inspect", "latest", "--out", tmp_path, "--item", items[0]["key"]).out


def test_a_preview_tells_what_it_has_cost(digsite: Digsite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    last = [line for line in digsite("preview", *ASKED).err.splitlines() if line.startswith("done: ")]
    assert "8 seeds" in last[0]
    assert "cost 0.00" not in last[0]


def test_what_a_preview_has_paid_for_generate_does_not_pay_again(
    digsite: Digsite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    said = digsite("preview", *ASKED)
    assert "index and paid answers are kept in outputs" in said.err

    def unasked(request: Request) -> Completion:
        raise AssertionError("asked again")

    monkeypatch.setattr(prepare, "client", lambda model, seed: ScriptedLLM(unasked))
    made = digsite("generate", *ASKED, "--pairs", "1", "--max-seeds", "3", "--no-flow")
    assert made.code == 3, made.err
