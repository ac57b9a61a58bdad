"""verl's tool class for the tools of a data set: observations byte for byte as in its own trajectories.

For verl 0.9 (`verl.tools.base_tool.BaseTool`). verl makes and releases an instance for every call, so what a trajectory
has seen is kept by its `agent_data`.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary

from verl.tools.base_tool import BaseTool
from verl.tools.schemas import OpenAIFunctionToolSchema, ToolResponse

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from trajectory import Trajectory

_trajectories: WeakKeyDictionary[Any, tuple[Trajectory, asyncio.Lock]] = WeakKeyDictionary()
"""By agent data; shared by the tools of one worker, since `open` reads what `search` has found."""


class DigsiteTool(BaseTool):  # type: ignore[misc]
    """`config.address` is that of `digsite serve`; the name of the tool is the schema's."""

    def __init__(self, config: dict[str, Any], tool_schema: OpenAIFunctionToolSchema) -> None:
        super().__init__(config, tool_schema)
        self._address = config["address"]

    async def execute(
        self, instance_id: str, parameters: dict[str, Any], agent_data: Any = None, **rest: Any
    ) -> tuple[ToolResponse, float, dict[str, Any]]:
        trajectory, lock = _trajectories.setdefault(agent_data, (Trajectory(self._address), asyncio.Lock()))
        async with lock:
            return ToolResponse(text=await asyncio.to_thread(trajectory.call, self.name, parameters)), 0.0, {}
