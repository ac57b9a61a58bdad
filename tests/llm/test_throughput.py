"""Tokens a second, measured at a server of known speed."""

from pathlib import Path

import pytest

from bench.endpoint import simulated
from pipeline.config.models import ModelConfig
from pipeline.errors import ProviderError
from pipeline.llm import throughput
from pipeline.llm.base import Completion, Finish, Request
from pipeline.llm.openai import OpenAIModel
from pipeline.llm.throughput import Throughput
from pipeline.types import Message, Usage
from tests.scripted import ScriptedLLM

LATENCY, AT_ONCE = 0.1, 8


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput, "SECONDS", 1.0)


async def test_the_speed_of_a_server_is_that_of_all_calls_in_flight_together() -> None:
    with simulated(LATENCY) as url:
        model = ModelConfig.model_validate(
            {"provider": "openai", "model": "m", "base_url": url, "limits": {"concurrency": AT_ONCE}}
        )
        found = await throughput.measure(model, OpenAIModel(model, 0))
    # A simulated answer has 40 tokens, and half of each prompt in its prefix cache.
    most = 40 * AT_ONCE / LATENCY
    assert 0.2 * most < found.completion <= 1.05 * most
    prompt = 4 * 1000 / 2 * AT_ONCE / LATENCY
    assert 0.1 * prompt < found.prompt < 2 * prompt
    assert (found.model, found.base_urls, found.concurrency) == ("m", (url,), AT_ONCE)


async def test_every_prompt_begins_anew_and_no_two_measures_share_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput, "SECONDS", 0.01)
    asked: list[Request] = []

    def answer(request: Request) -> Completion:
        asked.append(request)
        usage = Usage(calls=1, prompt_tokens=1000, completion_tokens=10)
        return Completion(message=Message(role="assistant", content="one"), finish=Finish.STOP, usage=usage)

    model = ModelConfig.model_validate({"provider": "openai", "model": "m", "limits": {"concurrency": 2}})
    for _ in range(2):
        await throughput.measure(model, ScriptedLLM(answer))
    begins = [said[:40] for request in asked if (said := request.messages[0].content) != "Say yes."]
    assert len(begins) >= 8
    assert len(set(begins)) == len(begins)


async def test_a_server_without_an_answer_has_no_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(throughput, "SECONDS", 0.01)
    model = ModelConfig.model_validate({"provider": "openai", "model": "m", "limits": {"concurrency": 2}})
    refused = Completion(message=Message(role="assistant"), finish=Finish.CONTENT_FILTER, usage=Usage(calls=1))
    with pytest.raises(ProviderError, match="answered none of the calls"):
        await throughput.measure(model, ScriptedLLM(lambda _: refused))


def test_a_measure_is_kept_beside_those_of_other_models(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    one, two = (
        Throughput(
            model=name, base_urls=("http://a:1/v1",), concurrency=1, prompt=1, completion=2, measured="2026-01-02"
        )
        for name in ("one", "two")
    )
    assert throughput.kept(tmp_path) == {}
    throughput.keep(tmp_path / "out", [one])
    throughput.keep(tmp_path / "out", [two, one.model_copy(update={"prompt": 7.0})])
    assert {name: found.prompt for name, found in throughput.kept(tmp_path / "out").items()} == {"one": 7.0, "two": 1.0}
    (tmp_path / "out" / throughput.NAME).write_text("[1")
    assert throughput.kept(tmp_path / "out") == {}
    assert "doctor --measure" in caplog.text
