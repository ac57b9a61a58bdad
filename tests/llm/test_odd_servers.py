"""Servers that silently cut prompts are reported with the remedy."""

import logging

import pytest

from pipeline.types import Message
from tests.chaos.faulty_server import FaultyServer
from tests.llm.wire import GOOD, REQUEST, make_client


@pytest.mark.parametrize(("words", "read", "is_reported"), [(8000, 2047, True), (8000, 9500, False), (300, 20, False)])
async def test_a_server_that_cuts_prompts_is_reported_once_with_the_remedy(
    words: int, read: int, is_reported: bool, caplog: pytest.LogCaptureFixture
) -> None:
    text = " ".join(["granite"] * words)
    request = REQUEST.model_copy(update={"messages": (Message(role="user", content=text),)})
    usage = {"prompt_tokens": read, "completion_tokens": 1}
    async with FaultyServer(script=lambda number, body: {**GOOD, "usage": usage}) as server:
        model = make_client(server.url)
        with caplog.at_level(logging.WARNING):
            for sample in range(3):
                await model.complete(request.model_copy(update={"sample": sample}))
    lines = [line for line in caplog.messages if f"has read {read:,} of about" in line]
    assert len(lines) == is_reported
    assert all("num_ctx" in line and "32,768" in line for line in lines)
