"""A run detects how its models call tools, with a server that has no tool parser but structured output."""

import asyncio
import logging
from pathlib import Path
from typing import Any

import orjson
import pytest

from pipeline.agents.environment_file import environment
from pipeline.agents.tool_mode import ModeFinding
from pipeline.agents.tools import SOLVER_TOOLS
from pipeline.config import RunConfig, build
from pipeline.demo.role_dispatch import DemoModel
from pipeline.doctor import diagnosis as doctor
from pipeline.llm.base import Completion, Finish, Request
from pipeline.llm.text_tools import CALL
from pipeline.run import RunResult, attempts, read, tool_modes
from pipeline.store.journal import Journal
from pipeline.types import Message, ToolCall, Usage
from tests.chaos.faulty_server import FaultyServer
from tests.run.test_batches import CHEAP, run_batches

TOOLS = {tool.name: tool for tool in SOLVER_TOOLS}


class ByObjects:
    """The demo model behind a server without a tool parser: of tools it tells the model nothing, and an object of a
    call it lets the model write as the schema has it."""

    def __init__(self) -> None:
        self._inner, self.prose = DemoModel(), Message(role="assistant", content="I would search.")

    async def complete(self, request: Request) -> Completion:
        if request.output is None or request.output.name != CALL:
            if request.tools:
                return Completion(message=self.prose, finish=Finish.STOP, usage=Usage(calls=1, prompt_tokens=9))
            return await self._inner.complete(request)
        kinds = request.output.body.get("anyOf", [request.output.body])
        tools = tuple(TOOLS[kind["properties"]["name"]["const"]] for kind in kinds)
        messages: list[Message] = []
        for message in request.messages:
            messages.append(self._read(message, messages))
        native_request = request.model_copy(update={"messages": tuple(messages), "tools": tools, "output": None})
        completion = await self._inner.complete(native_request)
        (call,) = completion.message.tool_calls
        content = orjson.dumps({"name": call.name, "arguments": orjson.loads(call.arguments)}).decode()
        return completion.model_copy(update={"message": Message(role="assistant", content=content)})

    def _read(self, message: Message, before: list[Message]) -> Message:
        """Convert a message back to a tool call or its result."""
        if message.role == "assistant":
            parsed = orjson.loads(message.content)
            arguments = orjson.dumps(parsed["arguments"]).decode()
            call = ToolCall(id=f"call{len(before)}", name=parsed["name"], arguments=arguments)
            return Message(role="assistant", tool_calls=(call,))
        if message.content.startswith("<tool_response>\n"):
            content = message.content.removeprefix("<tool_response>\n").removesuffix("\n</tool_response>")
            (call,) = before[-1].tool_calls
            return Message(role="tool", content=content, tool_call_id=call.id, name=call.name)
        return message


def config(out: Path, url: str, **solver: Any) -> RunConfig:
    model = {"provider": "openai", "model": "small", "base_url": url, "context": 32_768, **solver}
    return build(values={**CHEAP, "models": {"solver": model}, "runtime": {"out": str(out), "seeds": 4}})


async def test_a_run_probes_once_reports_the_mode_and_makes_the_pairs_of_native_calls(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tool_modes._log_finding.cache_clear()
    async with FaultyServer(model=ByObjects()) as server, FaultyServer() as calling:
        settings = config(tmp_path / "a", server.url)
        with caplog.at_level(logging.WARNING):
            result = await run_in_thread(settings)
        warnings = [line for line in caplog.messages if "tools = " in line]
        assert warnings == [
            "small: tools = schema, since by the server's own calls it fails (turn 1: it called no tool)"
        ]
        stored = read(result.folder).config
        assert stored.models.of("solver").tools == "schema"
        assert stored.digest() != settings.digest()
        assert result.folder == stored.folder()
        rows = list(attempts.read(result.folder))
        assert [row.spent.total.paid.calls for row in rows if row.ended == attempts.MODES] == [3]
        request_count = len(server.asked)
        assert (await asyncio.to_thread(tool_modes.resolve, settings)).digest() == stored.digest()
        assert len(server.asked) == request_count, "what it answered is in the cache"

        native = await run_in_thread(config(tmp_path / "b", calling.url, tools="native"))
    schema_rollouts, native_rollouts = read_rollouts(result), read_rollouts(native)
    shared = schema_rollouts.keys() & native_rollouts.keys()
    assert len(shared) > 3, "the seeds of two runs differ, but most of their questions do not"
    assert {key: schema_rollouts[key] for key in shared} == {key: native_rollouts[key] for key in shared}


async def run_in_thread(settings: RunConfig) -> RunResult:
    """Run in a thread, since the test's servers run in this loop."""
    return await asyncio.to_thread(lambda: asyncio.run(run_batches(settings, None)))


def read_rollouts(result: RunResult) -> dict[tuple[str, int], list[Any]]:
    """Return the solver's conversations, by question and sample."""
    journal = Journal(result.folder / "journal")
    graded = [attempt.rollout for key in journal.entries for attempt in journal.read(key).graded]
    return {
        (rollout.trajectory.messages[1].content, rollout.sample): normalize_messages(rollout.trajectory.messages)
        for rollout in graded
    }


def normalize_messages(messages: tuple[Message, ...]) -> list[Any]:
    """Return the conversation with the JSON of calls normalized."""
    return [(m.role, m.content, [(c.name, orjson.loads(c.arguments)) for c in m.tool_calls]) for m in messages]


async def test_native_calls_change_neither_run_nor_environment(tmp_path: Path) -> None:
    async with FaultyServer() as server:
        settings = config(tmp_path, server.url)
        resolved = await asyncio.to_thread(tool_modes.resolve, settings)
        assert len(server.asked) == 2
    assert resolved == settings
    for mode in ("auto", "native"):
        moded = config(tmp_path, server.url, tools=mode)
        assert (moded.digest(), environment(moded).digest) == (settings.digest(), environment(settings).digest)
    by_schema = environment(config(tmp_path, server.url, tools="schema"))
    assert by_schema.digest != environment(settings).digest
    assert by_schema.model_dump(mode="json")["calls"] == "schema"
    assert environment(settings).calls == "native"


async def test_a_run_uses_the_finding_of_doctor_without_a_request(tmp_path: Path) -> None:
    async with FaultyServer(model=ByObjects()) as server:
        settings = config(tmp_path, server.url)
        checks = await asyncio.to_thread(doctor.endpoint, settings, judge=False)
        line = next(check for check in checks if check.name == "small: tool calls")
        assert line.ok
        assert line.detail.startswith("schema, since by the server's own calls it fails")
        request_count = len(server.asked)
        assert (await asyncio.to_thread(tool_modes.resolve, settings)).models.of("solver").tools == "schema"
        assert len(server.asked) == request_count
    tool_modes.keep(tmp_path, {"other": ModeFinding(mode="text", why="w", reasoning="strip")})
    assert tool_modes.resolve(settings).models.of("solver").tools == "schema", "beside what is found of others"


def test_the_demo_model_is_never_probed(tmp_path: Path) -> None:
    settings = build(values={**CHEAP, "runtime": {"out": str(tmp_path)}})
    assert tool_modes.resolve(settings) == settings
    assert not list(tmp_path.iterdir())


async def test_a_finding_applies_only_to_its_own_settings(tmp_path: Path) -> None:
    tool_modes.keep(tmp_path, {"small": ModeFinding(mode="native", why="w", reasoning="keep", refuses="strip")})
    async with FaultyServer(model=ByObjects()) as server:
        for reasoning in ("strip", "keep"):
            settings = config(tmp_path, server.url, reasoning=reasoning)
            resolved = await asyncio.to_thread(tool_modes.resolve, settings)
            assert resolved.models.of("solver").reasoning == "keep"
            assert environment(resolved).reasoning == "keep"
        assert not server.asked
        await asyncio.to_thread(tool_modes.resolve, config(tmp_path, server.url, tools="schema"))
        assert server.asked
