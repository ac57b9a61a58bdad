"""Which failures are retried, when, and for how long."""

import asyncio
import time
from contextvars import ContextVar
from datetime import UTC, datetime

import pytest

from pipeline.config.models import Limits, ModelConfig
from pipeline.errors import DeadlineExceeded, ProviderError
from pipeline.llm import retry
from pipeline.llm.base import Completion, Finish, Request
from pipeline.llm.deadline import deadline
from pipeline.llm.endpoint import Endpoint
from pipeline.llm.pool import Pool
from pipeline.llm.retry import CallFailure, EndpointHealth, retry_after, retry_delay
from pipeline.types import Message, Usage
from tests.llm.outage import collect_outage_errors

NOW = datetime(2026, 11, 20, 12, 0, 0, tzinfo=UTC)


@pytest.fixture(autouse=True)
def shorten_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "BASE", 0.002)


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None), ("", None), ("0", 0.0), ("0.5", 0.5), ("7", 7.0), (" 7 ", 7.0), ("60", 60.0), ("61", 60.0),
        ("-1", 0.0), ("1e9", 60.0), ("inf", 60.0), ("-inf", 0.0), ("nan", None), ("soon", None), ("7 seconds", None),
        ("Fri, 20 Nov 2026 12:00:09 GMT", 9.0), ("Fri, 20 Nov 2026 11:00:00 GMT", 0.0),
        ("Sat, 20 Nov 2027 12:00:00 GMT", 60.0), ("Fri, 20 Nov 2026 12:00:09", 9.0), ("Fri, 99 Foo 2026", None),
        ("\u0667", 7.0), ("1" * 400, 60.0), ("Mon, 01 Jan 2024 00:00:00 +99999999999999", None),
    ],
)  # fmt: skip
def test_retry_after_is_honoured_within_a_minute(header: str | None, seconds: float | None) -> None:
    assert retry_after(header, NOW) == seconds


def test_waits_are_jittered_and_bounded() -> None:
    for number in range(200):
        assert 0 <= retry_delay(number, None) <= retry.CAP
        assert 0 <= retry_delay(0, 0.0) <= retry.BASE
        assert retry_delay(number, 7.0) == 7.0
    assert len({retry_delay(3, None) for _ in range(20)}) > 10


class Script:
    """Fails with these failures in turn, then answers."""

    def __init__(self, *failures: CallFailure | None, seconds: float = 0.0) -> None:
        self.failures, self.seconds = list(failures), seconds
        self.calls = 0

    async def next(self) -> Completion:
        self.calls += 1
        failure = self.failures.pop(0) if self.failures else None
        if failure:
            raise failure
        await asyncio.sleep(self.seconds)
        return ANSWER


ANSWER = Completion(message=Message(role="assistant", content="answer"), finish=Finish.STOP, usage=Usage(calls=1))
REQUEST = Request(model="m", messages=(Message(role="user", content="Who?"),))
_script: ContextVar[Script] = ContextVar("script")


class Alone(Endpoint):
    """An endpoint that answers no probe, and requests as the running test's script says."""

    def __init__(self, limits: Limits) -> None:
        super().__init__(ModelConfig.model_validate({"provider": "openai", "model": "m", "limits": limits}), 0)
        self.health = EndpointHealth("there", self._alive)

    async def answer(self, request: Request) -> Completion:
        return await _script.get().next()

    async def _alive(self) -> bool:
        return False


def make_pool(limits: Limits) -> Pool:
    return Pool([Alone(limits)], limits)


async def ask(script: Script, limits: Limits | None = None, pool: Pool | None = None) -> Completion:
    limits = limits or Limits()
    _script.set(script)
    return await (pool or make_pool(limits)).complete(REQUEST)


async def test_a_call_is_answered_after_nine_failures() -> None:
    endpoint = Script(*[CallFailure("busy", "passing" if n % 2 else "throttled") for n in range(9)])
    assert await ask(endpoint) == ANSWER
    assert endpoint.calls == 10


async def test_after_all_attempts_the_seed_is_requeued() -> None:
    endpoint = Script(*[CallFailure("down")] * 99)
    with pytest.raises(ProviderError, match="down, 10 times in a row") as caught:
        await ask(endpoint)
    assert (caught.value.then, endpoint.calls) == ("requeue", 10)


async def test_a_fatal_failure_stops_at_once() -> None:
    endpoint = Script(CallFailure("no key", "fatal"))
    with pytest.raises(ProviderError, match="no key") as caught:
        await ask(endpoint)
    assert (caught.value.then, endpoint.calls) == ("stop", 1)


async def test_the_run_stops_after_too_long_without_an_answer() -> None:
    limits = Limits(attempts=3, patience_seconds=0.05)
    pool = make_pool(limits)
    raised = await collect_outage_errors(lambda: ask(Script(*[CallFailure("down")] * 3), limits, pool))
    assert raised[0].then == "requeue"
    assert raised[-1].then == "stop"
    assert "no answer for 0 s: there: down" in str(raised[-1])


@pytest.mark.parametrize("failure", ["the connection broke", "there answered 503"])
async def test_an_outage_names_its_endpoint_once(failure: str, caplog: pytest.LogCaptureFixture) -> None:
    limits = Limits(attempts=2, patience_seconds=0.05)
    pool = make_pool(limits)
    lines = []
    for wait in (0, 0.1, 0):
        with pytest.raises(ProviderError) as caught:
            await ask(Script(*[CallFailure(failure)] * 2), limits, pool)
        lines.append(str(caught.value))
        await asyncio.sleep(wait)
    lines += [record.getMessage() for record in caplog.records]
    for phrase in ("2 times in a row", "no answer for", "trying again"):
        assert [line.count("there") for line in lines if phrase in line][:1] == [1]


async def test_one_answer_renews_the_patience() -> None:
    limits = Limits(attempts=3, patience_seconds=0.05)
    pool = make_pool(limits)
    for _ in range(6):
        with pytest.raises(ProviderError) as caught:
            await ask(Script(*[CallFailure("down")] * 3), limits, pool)
        assert caught.value.then == "requeue"
        await asyncio.sleep(0.02)
        assert await ask(Script(), limits, pool) == ANSWER


async def test_idle_time_before_the_first_failure_does_not_count() -> None:
    limits = Limits(attempts=2, patience_seconds=0.05)
    pool = make_pool(limits)
    await asyncio.sleep(0.1)
    with pytest.raises(ProviderError) as caught:
        await ask(Script(*[CallFailure("down")] * 3), limits, pool)
    assert caught.value.then == "requeue"


async def test_waiting_for_an_endpoint_does_not_count_towards_a_deadline() -> None:
    endpoint = Script(CallFailure("busy", after=0.3), CallFailure("busy", after=0.3))
    began = time.monotonic()
    async with deadline(0.2):
        assert await ask(endpoint) == ANSWER
    assert time.monotonic() - began > 0.6


async def test_a_slow_answer_counts_towards_a_deadline() -> None:
    async def ask_twice() -> None:
        async with deadline(0.2):
            for _ in range(2):
                await ask(Script(seconds=0.15))
            await asyncio.sleep(0)
            raise AssertionError("0.3 s of answers fitted into 0.2 s")

    with pytest.raises(DeadlineExceeded):
        await ask_twice()


async def test_work_between_calls_counts_towards_a_deadline() -> None:
    async def idle() -> None:
        async with deadline(0.05):
            await ask(Script(CallFailure("busy", after=0.1)))
            await asyncio.sleep(1)

    with pytest.raises(DeadlineExceeded):
        await idle()


async def test_concurrent_calls_pause_one_clock() -> None:
    pool = make_pool(Limits())
    async with deadline(0.1):
        endpoints = [Script(CallFailure("busy", after=0.2)) for _ in range(5)]
        await asyncio.gather(*(ask(endpoint, pool=pool) for endpoint in endpoints))
        await asyncio.sleep(0.02)


async def test_a_request_that_breaks_a_server_that_answers_others_is_given_up() -> None:
    limits = Limits(attempts=3)
    broken = CallFailure("list index out of range", "inside")
    for failures, result_type in [
        ([broken] * 3, CallFailure),
        ([broken, CallFailure("bad gateway"), broken], ProviderError),
        ([broken, broken], Completion),
    ]:
        pool = make_pool(limits)
        task = asyncio.create_task(ask(Script(*failures), limits, pool))
        await asyncio.sleep(0)
        await ask(Script(), limits, pool)
        (result,) = await asyncio.gather(task, return_exceptions=True)
        assert type(result) is result_type


async def test_a_server_that_has_failed_on_everything_since_its_last_answer_is_an_outage() -> None:
    limits = Limits(attempts=3)
    pool = make_pool(limits)
    assert await ask(Script(), limits, pool) == ANSWER
    with pytest.raises(ProviderError):
        await ask(Script(*[CallFailure("dead", "inside")] * 3), limits, pool)
