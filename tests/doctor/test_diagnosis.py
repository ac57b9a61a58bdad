"""The doctor reports a healthy machine as such, and names each problem of an unhealthy one with a remedy."""

import asyncio
import os
from contextlib import AsyncExitStack
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.config import build
from pipeline.config.models import ModelConfig
from pipeline.corpus import Corpus, jvm, manifest
from pipeline.doctor import diagnosis as doctor
from pipeline.doctor.diagnosis import Check
from pipeline.errors import DigsiteError, RetrievalError
from pipeline.retrieval.engines.lucene import LuceneRetriever
from tests.chaos.faulty_server import FaultyServer, Reply, Script
from tests.scripted_llm import ScriptedLLM


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Change the working folder, since findings are stored in `outputs` below it."""
    monkeypatch.chdir(tmp_path)


def by_name(out: Path) -> dict[str, Check]:
    return {check.name: check for check in doctor.checks(out)}


def test_this_machine_is_well(retriever: LuceneRetriever, indexes: Path, tiny: Corpus) -> None:
    checks = by_name(indexes)
    assert {"python", "java", "memory", "disk", "corpus wiki", "corpus tiny", "indexes", "endpoint"} <= set(checks)
    assert [check for check in checks.values() if not check.ok or check.remedy] == []
    assert checks["java"].detail.startswith("21.")
    assert tiny.fingerprint[:12] in checks["indexes"].detail


def test_each_lack_is_named_with_its_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone.toml").write_text('name = "gone"\nreader = "jsonl"\nsource = "/nowhere.jsonl"')
    (tmp_path / "torn.toml").write_text("name = ")
    (tmp_path / "changed.toml").write_text(
        f'name = "changed"\nreader = "jsonl"\nsource = "{tmp_path}/a.jsonl"\nsha256 = "{"0" * 64}"'
    )
    (tmp_path / "a.jsonl").touch()

    def fail() -> None:
        raise RetrievalError("Java did not start: no libjvm")

    monkeypatch.setattr(manifest, "ROOT", tmp_path)
    monkeypatch.setattr(jvm, "start", fail)
    monkeypatch.setattr(doctor, "_MEMORY", 1e6)
    monkeypatch.setattr(doctor, "_DISK", 1e6)
    checks = by_name(tmp_path / "not" / "there")
    ill = {name: check for name, check in checks.items() if not check.ok}
    assert set(ill) == {"java", "memory", "disk", "corpus gone", "corpus torn", "corpus changed"}
    assert all(check.detail and check.remedy and "\n" not in check.detail + check.remedy for check in ill.values())
    assert "no libjvm" in ill["java"].detail
    assert "make setup" in ill["java"].remedy


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert "cannot be written" in by_name(tmp_path / "outputs")["disk"].detail


def test_the_embedded_judge_accepts_few_wrong_answers_but_refuses_too_many_right_ones() -> None:
    checks = {check.name: check for check in doctor.endpoint(build())}
    check = checks["judging by embedded"]
    assert not check.ok
    assert "yes to 1 of 100 wrong answers, no to 59 of 100 right ones" in check.detail
    assert "judging by embedded" not in {check.name for check in doctor.endpoint(build(), judge=False)}


@pytest.mark.parametrize(
    ("verdict", "fault"), [(True, "yes to 100 of 100 wrong answers"), (False, "would count as wrong")]
)
def test_a_judge_that_accepts_or_refuses_everything_fails_the_check(verdict: bool, fault: str) -> None:
    judge = ModelConfig(provider="openai", model="j")
    answer = orjson.dumps({"reason": "So it is.", "correct": verdict}).decode()
    with pytest.raises(DigsiteError, match=fault):
        doctor._check_judges((judge, judge), ScriptedLLM(lambda _: answer))


def test_the_demo_model_is_told_from_texts_that_it_cannot_read(tmp_path: Path) -> None:
    texts = {"en": "The bridge was built by the monks of the town.", "zh": "这座古镇由僧人建于明朝，以石桥闻名。"}
    checks_by_language = {}
    for language, text in texts.items():
        path = tmp_path / f"{language}.jsonl"
        path.write_bytes(orjson.dumps({"id": "a", "text": text}))
        checks = doctor.endpoint(build(values={"corpus": {"name": str(path)}}), judge=False)
        checks_by_language[language] = next(check for check in checks if check.name == f"texts of {path}")
    assert checks_by_language["en"].ok
    assert (checks_by_language["zh"].ok, checks_by_language["zh"].remedy) == (False, "choose a --model")
    assert [check.name for check in doctor.endpoint(build(), judge=False)] == ["endpoint"]


def list_model(*models: dict[str, Any]) -> Reply:
    return Reply(body=orjson.dumps({"object": "list", "data": models}))


VLLM, LLAMA = {"id": "m", "max_model_len": 8192}, {"id": "/a/file.gguf", "meta": {"n_ctx": 6144, "n_ctx_train": 40960}}
OTHER = {"id": "other", "max_model_len": 1}
NAMED: dict[str, Any] = {"message": {"content": "yes"}, "finish_reason": "stop"}


async def examine(*models: Reply, solver: int = 4096) -> dict[str, Check]:
    """Diagnose one model at an address for each list of models; it calls no tool."""
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(FaultyServer(script=lambda number, body: {"choices": [NAMED]}))
            for _ in models
        ]
        for server, reply in zip(servers, models, strict=True):
            server.models = reply
        names = {server.url: f"address {number}" for number, server in enumerate(servers)}
        default = {"provider": "openai", "model": "m", "base_urls": list(names), "context": 8192}
        roles = {"default": {**default, "sampling": {"max_tokens": 512}}, "solver": {"context": solver}}
        config = build(values={"models": roles})
        checks = await asyncio.to_thread(doctor.endpoint, config, judge=False)
    return {
        next((c.name.replace(url, name) for url, name in names.items() if url in c.name), c.name): c for c in checks
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    ("reply", "ok", "message"),
    [
        (list_model(VLLM), True, "8,192 tokens; models.default.context is 8,192"),
        (list_model(OTHER, VLLM), True, "8,192 tokens"),
        (list_model(LLAMA), False, "6,144 tokens; models.default.context is 8,192"),
        (list_model({**VLLM, "max_model_len": 2048}), False, "2,048 tokens"),
        (list_model({"id": "m"}), True, "unknown"),
        (list_model(OTHER, LLAMA), True, "unknown"),
        (list_model({**VLLM, "max_model_len": "8k"}, {"id": "x"}), True, "unknown"),
        (Reply(404), True, "unknown"),
        (Reply(body=b'{"data": {"id": "m"}}'), True, "unknown"),
    ],
)
async def test_the_context_of_a_model_is_compared_with_the_servers(reply: Reply, ok: bool, message: str) -> None:
    check = (await examine(reply))["m: context"]
    assert check.ok is ok
    assert message in check.detail
    assert bool(check.remedy) is not ok


@pytest.mark.slow
async def test_the_remedy_of_a_context_that_is_too_long_can_be_followed() -> None:
    assert "set models.default.context to 6144, or start" in (await examine(list_model(LLAMA)))["m: context"].remedy
    short = (await examine(list_model({**VLLM, "max_model_len": 2048})))["m: context"].remedy
    assert short == "start the server with a longer context"
    roles = (await examine(list_model(VLLM), solver=16_384))["m: context"]
    assert "set models.solver.context to 8192" in roles.remedy


@pytest.mark.skipif(find_spec("xllamacpp") is None, reason="xllamacpp is not installed here")
def test_weights_on_this_machine_have_no_more_context_than_they_were_trained_for() -> None:
    weights = Path(__file__).parents[1] / "llm" / "tiny-tool-caller.gguf"
    model = {"provider": "gguf", "file": str(weights), "sampling": {"max_tokens": 64}}
    checks = doctor.endpoint(build(values={"models": {"default": model}}), judge=False)
    (check,) = (check for check in checks if check.name.endswith(": context"))
    assert check.detail == "4,096 tokens; models.default.context is 16,384"
    assert "set models.default.context to 4096" in check.remedy


async def test_each_address_of_a_model_is_examined_by_itself() -> None:
    checks = await examine(list_model(VLLM), list_model(LLAMA))
    assert {name for name in checks if "context" in name} == {"m at address 0: context", "m at address 1: context"}
    assert [checks[f"m at address {n}: context"].ok for n in (0, 1)] == [True, False]
    assert all(f"m at address {n}: tool calls" in checks for n in (0, 1))


def make_thinking_script(*, shows: bool, reports: bool = True) -> Script:
    """Script a server whose model thinks, and whose template shows resent thoughts or drops them."""

    def answer(number: int, body: dict[str, Any]) -> dict[str, Any]:
        visible = [{**m, "reasoning": "", "reasoning_content": m.get("reasoning_content", "") * shows}
                for m in body["messages"]]  # fmt: skip
        name, arguments = ("answer", '{"answer": "1874"}') if len(visible) > 2 else ("search", '{"query": "x"}')
        calls = [{"id": "x", "type": "function", "function": {"name": name, "arguments": arguments}}]
        message: dict[str, Any] = {"reasoning_content": "I look.", "content": "", "tool_calls": calls}
        if "response_format" in body:
            message = {"content": '{"reason": "", "correct": true}'}
        usage = {"usage": {"prompt_tokens": len(str(visible)) // 4, "completion_tokens": 9}} if reports else {}
        return {"choices": [{"message": message, "finish_reason": "stop"}], **usage}

    return answer


@pytest.mark.slow
async def test_one_line_for_each_model_says_what_its_template_does_with_thoughts() -> None:
    async with AsyncExitStack() as stack:
        kinds = {
            "shows": make_thinking_script(shows=True),
            "drops": make_thinking_script(shows=False),
            "mute": make_thinking_script(shows=True, reports=False),
        }
        urls = {
            name: (await stack.enter_async_context(FaultyServer(script=script))).url for name, script in kinds.items()
        }
        roles = {name: {"provider": "openai", "model": name, "base_url": url} for name, url in urls.items()}
        models = {"default": {**roles["shows"], "reasoning": "keep"}, "solver": {**roles["drops"], "reasoning": "keep"}}
        models |= {"judge": {**roles["mute"], "reasoning": "keep"}}
        checks = await asyncio.to_thread(doctor.endpoint, build(values={"models": models}), judge=False)
    lines = {check.name: check for check in checks if check.name.endswith(": reasoning")}
    assert [lines[f"{name}: reasoning"].ok for name in kinds] == [True, False, True]
    assert "template shows what is sent back" in lines["shows: reasoning"].detail
    assert "template leaves out what is sent back" in lines["drops: reasoning"].detail
    assert "set reasoning = 'strip'" in lines["drops: reasoning"].remedy
    assert "unknown: the server reports no token usage" in lines["mute: reasoning"].detail
    assert not any("\n" in check.detail for check in lines.values())
