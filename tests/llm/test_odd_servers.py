"""Servers that stream what is not to be streamed, or cut prompts without a word, are named with the cure."""

import logging

import pytest

from pipeline.errors import ProviderError
from pipeline.types import Message
from tests.chaos.faulty_server import FaultyServer, Reply
from tests.llm.test_openai import GOOD, REQUEST, client


@pytest.mark.parametrize(
    "body",
    [
        b'data: {"id": "x", "choices": [{"delta": {"content": "yes"}}]}\n\ndata: [DONE]\n\n',
        b': keep-alive\n\n: OPENROUTER PROCESSING\n\nevent: message\ndata: {"choices": []}\n\n',
        b"\r\nid: 1\ndata: {}\n\n",
    ],
)
async def test_a_stream_that_nobody_asked_for_is_named_and_not_tried_again(body: bytes) -> None:
    async with FaultyServer(script=lambda number, asked: Reply(body=body)) as server:
        with pytest.raises(ProviderError, match="answered with server-sent events, though no stream") as caught:
            await client(server.url).complete(REQUEST)
    assert caught.value.then == "stop"
    assert len(server.asked) == 1


@pytest.mark.parametrize(("words", "read", "said"), [(8000, 2047, True), (8000, 9500, False), (300, 20, False)])
async def test_a_server_that_cuts_prompts_is_named_once_with_the_cure(
    words: int, read: int, said: bool, caplog: pytest.LogCaptureFixture
) -> None:
    text = " ".join(["granite"] * words)
    asked = REQUEST.model_copy(update={"messages": (Message(role="user", content=text),)})
    usage = {"prompt_tokens": read, "completion_tokens": 1}
    async with FaultyServer(script=lambda number, body: {**GOOD, "usage": usage}) as server:
        model = client(server.url)
        with caplog.at_level(logging.WARNING):
            for more in range(3):
                await model.complete(asked.model_copy(update={"sample": more}))
    lines = [line for line in caplog.messages if f"has read {read:,} of about" in line]
    assert len(lines) == said
    assert all("num_ctx" in line and "32,768" in line for line in lines)
