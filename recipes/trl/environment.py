"""A data set's tools for TRL's GRPOTrainer: `environment_factory=of(DATASET)` gives each rollout its trajectory."""

import inspect
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from trajectory import Trajectory

ADDRESS = "http://127.0.0.1:8000"
"""Where `digsite serve` answers, unless DIGSITE_ADDRESS names another place."""
TYPES = {"string": str, "integer": int}


class Digsite:
    """An environment without tools. `of` adds one method for each tool of environment.json."""

    def reset(self, **row: Any) -> None:
        """Begin a trajectory. Nothing is added to the prompt."""
        self._trajectory = Trajectory(os.environ.get("DIGSITE_ADDRESS", ADDRESS), "")


def of(dataset: str | Path) -> type[Digsite]:
    """Build the class with the tools of a data set's environment, which TRL shows to the model as the view `sft` does.

    TRL takes a tool's name from `__name__` and sorts methods by the name of the attribute.
    """
    tools = json.loads((Path(dataset) / "environment.json").read_text())["tools"]
    methods = {f"tool{index}_{tool['name']}": _make_method(tool) for index, tool in enumerate(tools)}
    return type("Environment", (Digsite,), methods)


def _make_method(tool: dict[str, Any]) -> Callable[..., str]:
    """Make a method with the signature and docstring from which transformers builds the schema of the tool."""

    def method(self: Digsite, **arguments: Any) -> str:
        return self._trajectory.call(tool["name"], arguments)

    properties, kind = tool["parameters"]["properties"], inspect.Parameter.POSITIONAL_OR_KEYWORD
    hints = {name: TYPES[part["type"]] for name, part in properties.items()}
    optional = properties.keys() - {*tool["parameters"]["required"]}
    parameters = [
        inspect.Parameter(name, kind, annotation=hint, default=None if name in optional else inspect.Parameter.empty)
        for name, hint in hints.items()
    ]
    described = "\n".join(f"    {name}: {part['description']}" for name, part in properties.items())
    method.__name__, method.__annotations__ = tool["name"], hints
    method.__doc__ = f"{tool['description']}\n\nArgs:\n{described}\n"
    method.__signature__ = inspect.Signature([inspect.Parameter("self", kind), *parameters])  # type: ignore[attr-defined]
    return method
