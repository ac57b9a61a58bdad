"""Requests, answers and a client for tests over the loopback."""

from typing import Any

import orjson
import pytest

from pipeline.agents.tools import SOLVER_TOOLS
from pipeline.config.models import Limits, ModelConfig
from pipeline.llm import retry
from pipeline.llm.base import Request
from pipeline.llm.openai import OpenAIModel
from pipeline.types import Message
from tests.chaos.faulty_server import Reply

KEY = "sk-canary-8f3a61"
REQUEST = Request(model="m", messages=(Message(role="user", content="Who?"),))
WITH_TOOLS = REQUEST.model_copy(update={"tools": SOLVER_TOOLS})
GOOD: dict[str, Any] = {
    "choices": [{"message": {"content": "yes"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 2, "completion_tokens": 1},
}


@pytest.fixture(autouse=True)
def set_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retry, "BASE", 0.002)
    monkeypatch.setenv("THE_KEY", KEY)


def make_client(url: str, **limits: Any) -> OpenAIModel:
    model = ModelConfig(
        provider="openai", model="m", base_url=url, api_key_env="THE_KEY",
        limits=Limits(**{"timeout_seconds": 0.5, **limits}),
    )  # fmt: skip
    return OpenAIModel(model, 0)


def make_error(status: int, **tree: Any) -> Reply:
    return Reply(status, orjson.dumps({"error": tree}))
