"""Writes the tools of a data set's environment as verl reads them: `python recipes/verl/write_tools.py DATASET > FILE`.

The file is JSON, which is YAML too. `tools.yaml` beside this is for the default environment; this one also knows
`environment.pages` and `environment.find`, and has the very descriptions that the data set's own rollouts were given.
"""

import json
import sys
from pathlib import Path

tools = json.loads((Path(sys.argv[1]) / "environment.json").read_text())["tools"]
entry = {
    "class_name": "recipes.verl.digsite_tool.DigsiteTool",
    "config": {"type": "native", "address": "http://127.0.0.1:8000"},
}
schemas = [{"type": "function", "function": tool} for tool in tools if tool["name"] != "answer"]
written = json.dumps({"tools": [{**entry, "tool_schema": schema} for schema in schemas]}, indent=2)
sys.stdout.write(f"{written}\n")
