"""Servers that cut prompts without a word are named with the cure."""

import logging

import pytest

from pipeline.types import Message
from tests.chaos.faulty_server import FaultyServer
from tests.llm.test_openai import GOOD, REQUEST, client


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
