"""Write the tools of a data set's environment for verl: `python recipes/verl/write_tools.py DATASET > tools.json`.

The file is JSON, which is YAML too. verl shows the tools to the model as the view `sft` does.
"""

import json
import os
import sys
from pathlib import Path

environment = json.loads((Path(sys.argv[1]) / "environment.json").read_text())
if environment["calls"] == "schema":
    sys.exit(
        f"{sys.argv[1]} has calls that are bare JSON, which verl does not read: make one with models.solver.tools=text"
    )
config = {
    "type": "native",
    "address": os.environ.get("DIGSITE_ADDRESS", "http://127.0.0.1:8000"),
    # Whether the prompts have the tools in words, so that the chat template must not print them too.
    "in_words": environment["calls"] == "text",
}
tools = [
    {
        "class_name": "recipes.verl.digsite_tool.DigsiteTool",
        "config": config,
        "tool_schema": {"type": "function", "function": tool},
    }
    for tool in environment["tools"]
]
sys.stdout.write(f"{json.dumps({'tools': tools}, indent=2)}\n")
