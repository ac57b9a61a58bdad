"""verl's tool-agent loop, which ends with the call of `answer` as a data set's own trajectories do (verl 0.9).

`agent_loop.yaml` puts it in the place of `tool_agent`. verl's own loop would let the model speak again.
"""

import json
from typing import Any

from verl.experimental.agent_loop.tool_agent_loop import AgentData, AgentState, ToolAgentLoop
from verl.experimental.agent_loop.tool_parser import FunctionCall


class DigsiteAgentLoop(ToolAgentLoop):  # type: ignore[misc]
    """The loop for tools that `write_tools.py` has written."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if any(tool.config["in_words"] for tool in self.tools.values()):
            self.tool_schemas = None

    async def _handle_generating_state(self, agent_data: AgentData, *args: Any, **options: Any) -> AgentState:
        state = await super()._handle_generating_state(agent_data, *args, **options)
        calls_tools = state is AgentState.PROCESSING_TOOLS
        return AgentState.TERMINATED if calls_tools and any(map(_is_answer, agent_data.tool_calls)) else state


def _is_answer(call: FunctionCall) -> bool:
    """Check whether a call ends the conversation. One with bad arguments gets an error and another turn."""
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        return False
    return call.name == "answer" and isinstance(arguments, dict) and isinstance(arguments.get("answer"), str)
