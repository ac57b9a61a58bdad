"""Run by the interpreter of a verl environment: `with_digsite_tool.py TOOLS < trajectories`.

Trajectories are lists of calls, name and arguments; what verl's registry makes of the tools' file answers each of
them as verl's agent loop calls it.
"""

import asyncio
import json
import sys
from typing import Any

from verl.tools.tool_registry import initialize_tools_from_config  # type: ignore[import-not-found]


class AgentData:
    """As verl's: hashed by identity."""


async def replay(tools: dict[str, Any], calls: list[list[str]]) -> list[str]:
    data, texts = AgentData(), []
    for name, arguments in calls:
        instance, _ = await tools[name].create(create_kwargs={})
        response, _, _ = await tools[name].execute(instance, json.loads(arguments), agent_data=data)
        await tools[name].release(instance)
        texts.append(response.text)
    return texts


async def main() -> list[list[str]]:
    tools = {tool.name: tool for tool in initialize_tools_from_config(sys.argv[1])}
    return list(await asyncio.gather(*(replay(tools, calls) for calls in json.load(sys.stdin))))


if __name__ == "__main__":
    answers = asyncio.run(main())
    print("\n" + json.dumps(answers))
