"""The run's tools as routes, and its reward. `digsite serve` answers the tools, as in the run's own rollouts."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, ClassVar

import reward
from fastapi import FastAPI, Request
from fastapi.responses import PlainTextResponse
from nemo_gym.base_resources_server import (
    BaseResourcesServerConfig,
    BaseVerifyRequest,
    BaseVerifyResponse,
    ReverifyMode,
    SimpleResourcesServer,
)
from nemo_gym.server_utils import SESSION_ID_KEY
from pydantic import PrivateAttr
from questions import ADDRESS, ENVIRONMENT
from trajectory import Trajectory


class SearchServerConfig(BaseResourcesServerConfig):
    REVERIFY_MODE: ClassVar[ReverifyMode] = ReverifyMode.STATELESS
    address: str = ADDRESS


class SearchVerifyRequest(BaseVerifyRequest):
    golden_answers: list[str]


class SearchServer(SimpleResourcesServer):
    ray_enabled = False
    config: SearchServerConfig
    _trajectories: dict[str, Trajectory] = PrivateAttr(default_factory=dict)
    _failures: dict[str, str] = PrivateAttr(default_factory=dict)

    def setup_webserver(self) -> FastAPI:
        app = super().setup_webserver()
        for tool in ENVIRONMENT["tools"]:
            app.post(f"/{tool['name']}")(self._make_route(tool["name"]))
        return app

    def _make_route(self, name: str) -> Callable[[Request], Awaitable[PlainTextResponse]]:
        async def call(request: Request) -> PlainTextResponse:
            session, new = request.session[SESSION_ID_KEY], Trajectory(self.config.address)
            trajectory = self._trajectories.setdefault(session, new)
            try:
                return PlainTextResponse(await asyncio.to_thread(trajectory.call, name, await request.json()))
            except OSError as error:
                self._failures[session] = str(error)
                # An answer keeps the cookie of the session, which an exception would lose.
                return PlainTextResponse(f"Error: {error}", status_code=500)

        return call

    async def verify(self, request: Request, body: SearchVerifyRequest) -> BaseVerifyResponse:
        session = request.session[SESSION_ID_KEY]
        self._trajectories.pop(session, None)
        failure = self._failures.pop(session, None)
        messages = read_messages([item.model_dump() for item in body.response.output])
        worth = reward.score(reward.final_answer(messages), body.golden_answers)
        # Agents show a tool's failure to the model, so what the model did after it is no measurement.
        return BaseVerifyResponse(
            **body.model_dump(), reward=worth, mask_sample=failure is not None, failure_reason=failure
        )


def read_messages(output: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Convert the output of the Responses API to messages. Calls that follow one another are those of one turn."""
    messages: list[dict[str, Any]] = []
    for item in output:
        if item["type"] == "function_call":
            if not messages or "tool_calls" not in messages[-1]:
                messages.append({"role": "assistant", "tool_calls": []})
            messages[-1]["tool_calls"].append({"function": {"name": item["name"], "arguments": item["arguments"]}})
        elif item["type"] == "function_call_output":
            messages.append({"role": "tool", "content": item["output"]})
        elif item["type"] == "message":
            messages.append({"role": item["role"], "content": item["content"]})
    return messages


if __name__ == "__main__":
    SearchServer.run_webserver()
