"""How a run finds out how its models call tools, over a server that gives no calls but honours structured output."""

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
from tests.run.test_batches import CHEAP, made

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
        asked = request.model_copy(update={"messages": tuple(messages), "tools": tools, "output": None})
        completion = await self._inner.complete(asked)
        (call,) = completion.message.tool_calls
        said = orjson.dumps({"name": call.name, "arguments": orjson.loads(call.arguments)}).decode()
        return completion.model_copy(update={"message": Message(role="assistant", content=said)})

    def _read(self, message: Message, before: list[Message]) -> Message:
        """As it was before it was put into words: a call, and its result."""
        if message.role == "assistant":
            made = orjson.loads(message.content)
            arguments = orjson.dumps(made["arguments"]).decode()
            call = ToolCall(id=f"call{len(before)}", name=made["name"], arguments=arguments)
            return Message(role="assistant", tool_calls=(call,))
        if message.content.startswith("<tool_response>\n"):
            found = message.content.removeprefix("<tool_response>\n").removesuffix("\n</tool_response>")
            (call,) = before[-1].tool_calls
            return Message(role="tool", content=found, tool_call_id=call.id, name=call.name)
        return message


def config(out: Path, url: str, **solver: Any) -> RunConfig:
    model = {"provider": "openai", "model": "small", "base_url": url, "context": 32_768, **solver}
    return build(values={**CHEAP, "models": {"solver": model}, "runtime": {"out": str(out), "seeds": 4}})


async def test_a_run_asks_once_says_what_it_took_and_makes_the_pairs_that_calls_of_the_server_make(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    tool_modes._log_finding.cache_clear()
    async with FaultyServer(model=ByObjects()) as server, FaultyServer() as calling:
        asked = config(tmp_path / "a", server.url)
        with caplog.at_level(logging.WARNING):
            result = await run(asked)
        said = [line for line in caplog.messages if "tools = " in line]
        assert said == ["small: tools = schema, since by the server's own calls it fails (turn 1: it called no tool)"]
        kept = read(result.folder).config
        assert kept.models.of("solver").tools == "schema"
        assert kept.digest() != asked.digest()
        assert result.folder == kept.folder()
        rows = list(attempts.read(result.folder))
        assert [row.spent.total.paid.calls for row in rows if row.ended == attempts.MODES] == [3]
        before = len(server.asked)
        assert (await asyncio.to_thread(tool_modes.resolve, asked)).digest() == kept.digest()
        assert len(server.asked) == before, "what it answered is in the cache"

        native = await run(config(tmp_path / "b", calling.url, tools="native"))
    found, wanted = rollouts(result), rollouts(native)
    same = found.keys() & wanted.keys()
    assert len(same) > 3, "the seeds of two runs differ, but most of their questions do not"
    assert {key: found[key] for key in same} == {key: wanted[key] for key in same}


async def run(asked: RunConfig) -> RunResult:
    """In a thread, beside the servers of the test."""
    return await asyncio.to_thread(lambda: asyncio.run(made(asked, None)))


def rollouts(result: RunResult) -> dict[tuple[str, int], list[Any]]:
    """The conversations of the solver, by question and sample."""
    journal = Journal(result.folder / "journal")
    graded = [one.rollout for key in journal.entries for one in journal.read(key).graded]
    return {(one.trajectory.messages[1].content, one.sample): spoken(one.trajectory.messages) for one in graded}


def spoken(messages: tuple[Message, ...]) -> list[Any]:
    """What was said, however the JSON of calls is spaced."""
    return [(m.role, m.content, [(c.name, orjson.loads(c.arguments)) for c in m.tool_calls]) for m in messages]


async def test_a_server_that_gives_calls_changes_neither_run_nor_environment(tmp_path: Path) -> None:
    async with FaultyServer() as server:
        asked = config(tmp_path, server.url)
        found = await asyncio.to_thread(tool_modes.resolve, asked)
        assert len(server.asked) == 2
    assert found == asked
    for mode in ("auto", "native"):
        other = config(tmp_path, server.url, tools=mode)
        assert (other.digest(), environment(other).digest) == (asked.digest(), environment(asked).digest)
    by_schema = environment(config(tmp_path, server.url, tools="schema"))
    assert by_schema.digest != environment(asked).digest
    assert by_schema.model_dump(mode="json")["calls"] == "schema"
    assert environment(asked).calls == "native"


async def test_what_doctor_found_is_taken_and_nobody_asked(tmp_path: Path) -> None:
    async with FaultyServer(model=ByObjects()) as server:
        asked = config(tmp_path, server.url)
        found = await asyncio.to_thread(doctor.endpoint, asked, judge=False)
        line = next(check for check in found if check.name == "small: tool calls")
        assert line.ok
        assert line.detail.startswith("schema, since by the server's own calls it fails")
        before = len(server.asked)
        assert (await asyncio.to_thread(tool_modes.resolve, asked)).models.of("solver").tools == "schema"
        assert len(server.asked) == before
    tool_modes.keep(tmp_path, {"other": ModeFinding(mode="text", why="w", reasoning="strip")})
    assert tool_modes.resolve(asked).models.of("solver").tools == "schema", "beside what is found of others"


def test_the_demo_model_is_not_asked_at_all(tmp_path: Path) -> None:
    asked = build(values={**CHEAP, "runtime": {"out": str(tmp_path)}})
    assert tool_modes.resolve(asked) == asked
    assert not list(tmp_path.iterdir())


async def test_a_finding_is_taken_only_for_the_settings_that_it_was_found_for(tmp_path: Path) -> None:
    tool_modes.keep(tmp_path, {"small": ModeFinding(mode="native", why="w", reasoning="keep", refuses="strip")})
    async with FaultyServer(model=ByObjects()) as server:
        for reasoning in ("strip", "keep"):
            asked = config(tmp_path, server.url, reasoning=reasoning)
            found = await asyncio.to_thread(tool_modes.resolve, asked)
            assert found.models.of("solver").reasoning == "keep"
            assert environment(found).reasoning == "keep"
        assert not server.asked
        await asyncio.to_thread(tool_modes.resolve, config(tmp_path, server.url, tools="schema"))
        assert server.asked
