"""The tools of environment.json, answered by `digsite serve` as the run's own rollouts were."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Annotated, Any

import verifiers.v1 as vf
from pydantic import Field

from .questions import ADDRESS, ENVIRONMENT
from .trajectory import Trajectory

TYPES = {"string": str, "integer": int}


class SearchToolsConfig(vf.SharedToolsetConfig):
    address: str = ADDRESS


class SearchState(vf.State):
    """What one rollout has done so far. The server itself keeps no state."""

    shown: list[str] = Field(default_factory=list)
    calls: int = 0


class SearchTools(vf.Toolset[SearchToolsConfig, SearchState]):
    TOOL_PREFIX = None

    def register(self, mcp: Any) -> None:
        for tool in ENVIRONMENT["tools"]:
            mcp.add_tool(self._with_state(self._build_tool(tool)), name=tool["name"], description=tool["description"])

    def _build_tool(self, tool: dict[str, Any]) -> Callable[..., Awaitable[str]]:
        async def call(**arguments: Any) -> str:
            trajectory = Trajectory(self.config.address)
            trajectory.state |= {"shown": self.state.shown, "calls": self.state.calls}
            content = await asyncio.to_thread(trajectory.call, tool["name"], arguments)
            self.state.shown, self.state.calls = trajectory.state["shown"], trajectory.state["calls"]
            return content

        properties = tool["parameters"]["properties"]
        call.__signature__ = inspect.Signature(  # what the framework shows to the model
            [_build_parameter(name, schema) for name, schema in properties.items()], return_annotation=str
        )
        return call


def _build_parameter(name: str, schema: dict[str, Any]) -> inspect.Parameter:
    annotation = Annotated[TYPES[schema["type"]], Field(description=schema.get("description"))]
    default = schema.get("default", inspect.Parameter.empty)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


if __name__ == "__main__":
    SearchTools.run()
