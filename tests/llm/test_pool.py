"""Several endpoints behind one model: where a conversation is sent, and what happens if one fails."""

import asyncio
import itertools
import logging
from contextlib import AsyncExitStack, suppress
from typing import Any

import orjson
import pytest

from pipeline.config.models import Limits, ModelConfig
from pipeline.errors import ProviderError, RequestRefused
from pipeline.llm import retry
from pipeline.llm.base import Finish, Request
from pipeline.llm.openai import OpenAIModel
from pipeline.types import Message
from tests.chaos.faulty_server import FaultyServer, Reply
from tests.llm import wire
from tests.llm.outage import collect_outage_errors

GOOD = orjson.dumps(wire.GOOD)
BUSY, BROKEN = Reply(429), Reply(503)


@pytest.fixture(autouse=True)
def shorten_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "BASE", 0.002)
    monkeypatch.setattr(retry, "AGAIN", 0.02)


class Servers:
    """Three servers, each with its own reply to everything, and the model behind all of them."""

    def __init__(self, **limits: Any) -> None:
        self.limits = Limits(**{"timeout_seconds": 5.0, "concurrency": 4, **limits})
        self.replies = [Reply(body=GOOD, wait=0.005)] * 3

    async def __aenter__(self) -> "Servers":
        self._stack = await AsyncExitStack().__aenter__()
        self.each = [await self._stack.enter_async_context(FaultyServer(script=self._script(n))) for n in range(3)]
        urls = [server.url for server in self.each]
        self.model = OpenAIModel(
            ModelConfig.model_validate({"provider": "openai", "model": "m", "base_urls": urls, "limits": self.limits}),
            0,
        )
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stack.aclose()

    def _script(self, number: int) -> Any:
        return lambda _, body: self.replies[number]

    def count_requests(self, name: str = "") -> list[int]:
        """Count the requests of each server that begin with the name."""
        return [sum(body["messages"][0]["content"].startswith(name) for body in server.asked) for server in self.each]

    async def talk(self, name: str, turns: int = 4) -> None:
        messages: tuple[Message, ...] = (Message(role="user", content=name),)
        for _ in range(turns):
            completion = await self.model.complete(Request(model="m", messages=messages))
            assert completion.finish is Finish.STOP
            messages += (completion.message, Message(role="user", content="go on"))


def make_names(count: int) -> list[str]:
    return [f"talk {n:02d}" for n in range(count)]


async def test_a_conversation_stays_at_one_endpoint_and_new_ones_go_to_the_least_loaded() -> None:
    async with Servers() as servers:
        await asyncio.gather(*(servers.talk(name, 1) for name in make_names(12)))
        assert servers.count_requests() == [4, 4, 4]
        # All are idle in turn, so choosing the least loaded each time would always choose the first.
        for name in make_names(12):
            await servers.talk(name, 3)
        assert [sorted(servers.count_requests(name)) for name in make_names(12)] == [[0, 0, 4]] * 12
        assert servers.count_requests() == [16, 16, 16]


async def test_another_sample_of_a_question_may_be_sent_elsewhere() -> None:
    async with Servers() as servers:
        request = Request(model="m", messages=(Message(role="user", content="Who?"),))
        await asyncio.gather(*(servers.model.complete(request.model_copy(update={"sample": n})) for n in range(3)))
        assert servers.count_requests() == [1, 1, 1]


async def test_a_conversation_leaves_a_crowded_endpoint_if_another_has_room() -> None:
    async with Servers(concurrency=1) as servers:
        await servers.talk("stays", 1)
        (home,) = [n for n, count in enumerate(servers.count_requests()) if count]
        servers.replies[home] = Reply(body=GOOD, wait=0.3)
        turns = asyncio.gather(*(servers.talk("stays", 1) for _ in range(5)))
        await turns
        assert max(servers.count_requests()) == 3
        assert sum(servers.count_requests()) == 6


async def test_a_dead_endpoint_is_skipped_until_it_answers(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    async with Servers() as servers:
        await asyncio.gather(*map(servers.talk, make_names(6)))
        servers.replies[0] = Reply(cut=-1)
        await asyncio.gather(*map(servers.talk, make_names(12)))
        assert "left out until it answers" in caplog.text
        before = servers.count_requests("talk")[0]
        await asyncio.gather(*(servers.talk(f"talk later {n}") for n in range(12)))
        assert servers.count_requests("talk")[0] == before
        servers.replies[0] = Reply(body=GOOD)
        number = itertools.count()
        async with asyncio.timeout(5):
            while servers.count_requests("talk")[0] == before:
                await servers.talk(f"talk after {next(number)}", 1)
        assert "answers again" in caplog.text


async def test_an_endpoint_without_answers_loses_no_call_even_with_one_attempt() -> None:
    async with Servers(attempts=1) as servers:
        servers.replies[1] = BROKEN
        await asyncio.gather(*map(servers.talk, make_names(30)))


async def test_a_429_lowers_only_its_own_endpoint() -> None:
    async with Servers(concurrency=16) as servers:
        servers.replies[2] = BUSY
        await asyncio.gather(*map(servers.talk, make_names(48)))
        limits = [member.limiter.concurrency for member in servers.model.pool.members]
        assert limits[:2] == [16.0, 16.0]
        assert limits[2] < 16
        assert sum(servers.count_requests()[:2]) == 48 * 4


async def test_a_key_that_one_endpoint_refuses_skips_it_and_that_all_refuse_stops_the_run() -> None:
    async with Servers() as servers:
        servers.replies[0] = Reply(401)
        await asyncio.gather(*map(servers.talk, make_names(6)))
        servers.replies = [Reply(401)] * 3
        with pytest.raises(ProviderError, match="401") as caught:
            await servers.talk("last")
    assert caught.value.then == "stop"


async def test_the_run_stops_only_if_all_endpoints_are_silent() -> None:
    async with Servers(attempts=2, patience_seconds=0.05) as servers:
        servers.replies[:2] = [BROKEN, BROKEN]
        for name in make_names(4):
            await servers.talk(name)
            await asyncio.sleep(0.05)
        servers.replies[2] = BUSY
        remaining = iter(make_names(20))
        raised = await collect_outage_errors(lambda: servers.talk(next(remaining)))
    assert raised[0].then == "requeue"
    assert raised[-1].then == "stop"


async def test_a_request_that_breaks_every_server_is_given_up_and_no_server_is_skipped() -> None:
    async with Servers(attempts=3) as servers:

        def fail_on_bad(_: int, body: dict[str, Any]) -> Reply:
            return Reply(500) if "bad" in str(body["messages"]) else Reply(body=GOOD, wait=0.002)

        for server in servers.each:
            server.script = fail_on_bad
        bad = Request(model="m", messages=(Message(role="user", content="bad"),))

        async def repeat_bad() -> None:
            while True:
                with suppress(ProviderError):
                    await servers.model.complete(bad)

        task = asyncio.create_task(repeat_bad())
        async with asyncio.timeout(10):
            while not task.done():
                await asyncio.gather(*map(servers.talk, make_names(9)))
            assert isinstance(task.exception(), RequestRefused)
            while any(member.health.down for member in servers.model.pool.members):
                await servers.talk("again", 1)


async def test_a_parameter_that_one_server_refuses_is_still_sent_to_the_others() -> None:
    async with Servers() as servers:

        def picky(number: int, body: dict[str, Any]) -> Reply:
            why = orjson.dumps({"error": {"message": "Unsupported parameter: 'seed'"}})
            return Reply(400, why) if "seed" in body else servers.replies[0]

        servers.each[0].script = picky
        await asyncio.gather(*map(servers.talk, make_names(9)))
        assert ["seed" in server.asked[-1] for server in servers.each] == [False, True, True]
