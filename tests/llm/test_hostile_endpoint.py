"""A malicious or broken endpoint cannot hold up a run for ever, fill its memory or publish its key."""

import asyncio
import bz2
import logging
import resource
import time
import traceback
import zlib
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from typing import Any

import orjson
import pytest

from pipeline.errors import ProviderError, RequestRefused
from pipeline.llm.base import Completion, Finish
from pipeline.llm.connection import MOST_BYTES, MOST_ERROR_BYTES
from pipeline.llm.openai import OpenAIModel
from pipeline.types import Message
from tests.chaos.faulty_server import PAGE, FaultyServer, Reply, Script
from tests.llm.wire import GOOD, KEY, REQUEST, make_client, set_environment

__all__ = ["set_environment"]

BAD = REQUEST.model_copy(update={"messages": (Message(role="user", content="bad"),)})
MEMORY = 48 << 20
"""Bytes that one call may take: an answer of 4 MB, and copies of it."""


def fail_on_bad(bad: Reply) -> Script:
    """Fail on one request and answer all others."""
    return lambda number, body: bad if "bad" in str(body["messages"]) else GOOD


@pytest.mark.parametrize("bad", [Reply(502, PAGE), Reply(cut=-1), Reply(200, PAGE), Reply(wait=5)], ids=range(4))
@pytest.mark.parametrize("alone", [True, False])
async def test_a_request_that_alone_is_never_answered_is_given_up(bad: Reply, alone: bool) -> None:
    """It is given up when it comes back from the queue; until then it may have been bad luck."""
    async with FaultyServer(script=fail_on_bad(bad)) as server:
        model = make_client(server.url, attempts=3, timeout_seconds=0.1, patience_seconds=0.01)
        if not alone:
            await model.complete(REQUEST)
        with pytest.raises(ProviderError, match="3 times in a row") as caught:
            await model.complete(BAD)
        assert caught.value.then == "requeue"
        with pytest.raises(RequestRefused, match="fails on one request"):
            await model.complete(BAD)
        count = len(server.asked)
        with pytest.raises(RequestRefused):
            await model.complete(BAD)
        assert len([body for body in server.asked[count:] if "bad" in str(body)]) == 1


async def test_a_lone_request_that_breaks_its_server_is_given_up_on_return() -> None:
    async with FaultyServer(script=fail_on_bad(Reply(500))) as server:
        model = make_client(server.url, attempts=3)
        with pytest.raises(ProviderError, match="3 times in a row"):
            await model.complete(BAD)
        with pytest.raises(RequestRefused):
            await model.complete(BAD)


async def test_a_request_that_is_only_throttled_is_never_given_up() -> None:
    async with FaultyServer(script=fail_on_bad(Reply(429))) as server:
        model = make_client(server.url, attempts=3)
        for _ in range(4):
            with pytest.raises(ProviderError):
                await model.complete(BAD)


async def test_a_moderation_403_ends_only_its_own_request(caplog: pytest.LogCaptureFixture) -> None:
    moderated = Reply(403, orjson.dumps({"error": {"message": f"input was flagged {KEY}", "code": 403}}))
    async with FaultyServer(script=fail_on_bad(moderated)) as server:
        model = make_client(server.url)
        for _ in range(2):
            with pytest.raises(RequestRefused, match="input was flagged"):
                await model.complete(BAD)
            assert (await model.complete(REQUEST)).finish is Finish.STOP
    assert "refused a request (403: input was flagged" in caplog.text
    assert KEY not in caplog.text


async def test_a_403_to_one_request_is_not_the_keys_fault_if_the_probe_is_refused_too() -> None:
    """A server may take only requests that it knows, as the demo model does."""

    def script(number: int, body: dict[str, Any]) -> Reply | dict[str, Any]:
        if "Say yes." in orjson.dumps(body).decode():
            return Reply(400, b'{"error": {"message": "no rules for this"}}')
        return Reply(403) if "bad" in str(body["messages"]) else GOOD

    async with FaultyServer(script=script) as server:
        model = make_client(server.url)
        await model.complete(REQUEST)
        with pytest.raises(RequestRefused):
            await model.complete(BAD)


@pytest.mark.parametrize("before", [0, 3])
async def test_403_to_every_request_is_the_keys_fault(before: int) -> None:
    async with FaultyServer(script=lambda number, body: GOOD if number < before else Reply(403)) as server:
        model = make_client(server.url)
        for _ in range(before):
            await model.complete(REQUEST)
        with pytest.raises(ProviderError, match="environment variable THE_KEY") as caught:
            await model.complete(REQUEST)
    assert caught.value.then == "stop"


@asynccontextmanager
async def start_endless_server(head: str, chunk: bytes, *, pause: float = 0.0) -> AsyncIterator[str]:
    """Start a server that repeats `chunk` for as long as anybody reads."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(f"HTTP/1.1 {head}\r\nTransfer-Encoding: chunked\r\n\r\n".encode())
            while True:
                writer.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
                await writer.drain()
                await asyncio.sleep(pause)
        except (ConnectionError, asyncio.IncompleteReadError):
            writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    finally:
        server.close()


def read_peak_memory() -> int:
    """Return the most bytes that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize("status", [200, 400, 500])
@pytest.mark.parametrize("size", [256 << 20, pytest.param(2 << 30, marks=pytest.mark.slow)])
async def test_a_compressed_answer_is_unpacked_only_as_far_as_it_is_read(status: int, size: int) -> None:
    pack = zlib.compressobj(1, wbits=zlib.MAX_WBITS | 16)
    zeros = b"0" * (1 << 20)
    packed = b"".join([*(pack.compress(zeros) for _ in range(size >> 20)), pack.flush()])
    headers = (("Content-Encoding", "gzip"),)
    async with FaultyServer(script=lambda number, body: Reply(status, packed, headers)) as server:
        before = read_peak_memory()
        await complete_or_fail(make_client(server.url, attempts=2, timeout_seconds=20))
    assert read_peak_memory() - before < MEMORY


@cache
def make_bomb() -> bytes:
    """Compress 128 MiB of zeros."""
    pack, zeros = bz2.BZ2Compressor(), bytes(1 << 20)
    return b"".join([*(pack.compress(zeros) for _ in range(128)), pack.flush()])


@pytest.mark.parametrize("charset", ["bz2", "rot13", "idna", "undefined"])
async def test_an_error_is_read_as_utf_8_whatever_charset_it_names(charset: str) -> None:
    """Python counts compression among its charsets."""
    packed = make_bomb()
    headers = (("Content-Type", f"text/plain; charset={charset}"),)
    async with FaultyServer(script=lambda number, body: Reply(400, packed, headers)) as server:
        before = read_peak_memory()
        with pytest.raises(ProviderError, match="refuses every request"):
            await make_client(server.url, attempts=2, timeout_seconds=20).complete(REQUEST)
    assert len(packed) < MOST_ERROR_BYTES
    assert read_peak_memory() - before < MEMORY


@pytest.mark.parametrize("head", ["200 X", "400 X", "500 X", "500 X\r\nContent-Encoding: gzip", "503 X"])
async def test_an_endless_answer_is_read_up_to_its_limit(head: str) -> None:
    async with start_endless_server(head, b"x" * (1 << 16)) as url:
        before, began = read_peak_memory(), time.monotonic()
        await complete_or_fail(make_client(url, attempts=2, timeout_seconds=6))
    assert time.monotonic() - began < 5
    assert read_peak_memory() - before < MEMORY


async def test_a_trickling_answer_ends_with_the_time_limit() -> None:
    for head in ("200 X", "500 X"):
        async with start_endless_server(head, b"x", pause=0.02) as url:
            began = time.monotonic()
            await complete_or_fail(make_client(url, attempts=1, timeout_seconds=0.3))
            assert time.monotonic() - began < 2


@pytest.mark.parametrize("body", [b": " * 60 + b"x", b": \n" * 60_000 + b"x", b" " * 200_000, b":" * 200_000])
async def test_a_body_of_comments_without_an_event_is_read_in_linear_time(body: bytes) -> None:
    began = time.monotonic()
    async with FaultyServer(script=lambda number, _: Reply(200, body)) as server:
        await complete_or_fail(make_client(server.url, attempts=2, timeout_seconds=2))
    assert time.monotonic() - began < 2


async def complete_or_fail(model: OpenAIModel) -> None:
    """Accept either result: an answer that was cut off, or an error of the endpoint."""
    try:
        completion = await model.complete(REQUEST)
    except ProviderError:
        return
    assert completion.finish is Finish.LENGTH


async def test_a_compressed_answer_is_read() -> None:
    packed = zlib.compress(orjson.dumps(GOOD), wbits=zlib.MAX_WBITS | 16)
    for coding in ("gzip", "GZIP", "x-gzip"):
        answer = Reply(200, packed, (("Content-Encoding", coding),))
        async with FaultyServer(script=lambda number, body, answer=answer: answer) as server:  # type: ignore[misc]
            assert (await make_client(server.url).complete(REQUEST)).message.content == "yes"
            assert server.headers[0]["accept-encoding"] == "gzip"
    assert len(packed) < MOST_BYTES


@pytest.mark.parametrize("status", [200, 400, 500])
async def test_a_deeply_nested_error_is_an_error_like_any_other(status: int) -> None:
    deep = b'{"error": ' + b"[" * 1000 + b"]" * 1000 + b"}"
    async with FaultyServer(script=lambda number, body: Reply(status, deep)) as server:
        with pytest.raises(ProviderError):
            await make_client(server.url, attempts=2).complete(REQUEST)


PARTED = [KEY, f"\x1b[1m{KEY[:8]}\x1b[0m{KEY[8:]}", "\u200e".join(KEY), "\ufeff".join(KEY), "\x1b[0m".join(KEY)]


CUT = KEY[:-1] + "\x1b]0;" + "x" * 4000


@pytest.mark.parametrize("key", [*PARTED, "\u200b".join(KEY), "\x00".join(KEY), CUT], ids=range(8))
@pytest.mark.parametrize("status", [200, 400, 401, 404, 500])
async def test_a_key_in_an_error_is_never_shown_even_in_parts(status: int, key: str) -> None:
    body = orjson.dumps({"error": {"message": f"no such thing: {key}", "code": key}})
    async with FaultyServer(script=lambda number, _: Reply(status, body)) as server:
        with pytest.raises(ProviderError) as caught:
            await make_client(server.url, attempts=1).complete(REQUEST)
    shown_text = "".join(traceback.format_exception(caught.value))
    assert KEY not in shown_text
    assert KEY[:-1] not in shown_text


def make_echo(text: str) -> dict[str, Any]:
    call = {"id": text, "type": "function", "function": {"name": "search", "arguments": orjson.dumps({"query": text})}}
    call["function"]["arguments"] = call["function"]["arguments"].decode()  # type: ignore[index]
    message = {"content": f"I was sent {text}", "reasoning": f"so {text}", "tool_calls": [call]}
    return {"choices": [{"message": message, "finish_reason": "stop"}], "usage": {"prompt_tokens": 2}}


async def complete_with(tree: dict[str, Any]) -> Completion:
    async with FaultyServer(script=lambda number, body: tree) as server:
        return await make_client(server.url).complete(REQUEST)


async def test_a_key_that_an_answer_repeats_is_replaced(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        completion = await complete_with(make_echo(f"Bearer {KEY}"))
    assert KEY not in completion.model_dump_json()
    assert completion.message.content == "I was sent Bearer [api key]"
    assert completion.message.tool_calls[0].arguments == '{"query":"Bearer [api key]"}'
    assert "THE_KEY" in caplog.text


@pytest.mark.parametrize(
    "key", [*PARTED[1:], "\x00".join(KEY), "\\u0073k" + KEY[2:], "\\".join(KEY), KEY[:4] + KEY + KEY[4:]],
    ids=range(8),
)  # fmt: skip
async def test_an_answer_with_a_disguised_key_is_dropped(key: str) -> None:
    completion = await complete_with(
        {"choices": [{"message": {"content": f'{{"reason": "{key}"}}'}}], "usage": {"prompt_tokens": 2}}
    )
    assert (completion.finish, completion.message) == (Finish.CONTENT_FILTER, Message(role="assistant"))
    assert completion.usage.prompt_tokens == 2


@pytest.mark.parametrize("key", ["EMPTY", "none", "a"])
async def test_a_key_that_is_a_common_word_may_occur_in_an_answer(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", key)
    assert (await complete_with(make_echo(key))).message.content == f"I was sent {key}"


async def test_names_and_ids_of_calls_are_cut_short() -> None:
    tree = make_echo("x" * 3_000_000)
    tree["choices"][0]["message"]["tool_calls"][0]["function"] = {"name": "y" * 3_000_000, "arguments": "{}"}
    del tree["choices"][0]["message"]["content"], tree["choices"][0]["message"]["reasoning"]
    tree["choices"][0]["message"]["tool_calls"][0]["id"] = "z"
    (call,) = (await complete_with(tree)).message.tool_calls
    assert (len(call.name), call.arguments) == (200, "{}")
