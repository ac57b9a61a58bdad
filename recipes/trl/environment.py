"""A data set's tools for TRL's GRPOTrainer: `environment_factory=of(DATASET)` gives each rollout its trajectory."""

import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from tool_methods import add_tools
from trajectory import Trajectory

ADDRESS = "http://127.0.0.1:8000"
"""Where `digsite serve` answers, unless DIGSITE_ADDRESS names another place."""


class Environment:
    """An environment without tools. `of` adds them."""

    def reset(self, **row: Any) -> None:
        """Begin a trajectory. Nothing is added to the prompt."""
        self._trajectory = Trajectory(os.environ.get("DIGSITE_ADDRESS", ADDRESS), "")

    def _call(self, name: str, arguments: dict[str, Any]) -> str:
        return self._trajectory.call(name, arguments)


def of(dataset: str | Path) -> type:
    """Build the class with the tools of a data set, which TRL shows to the model as the view `sft` does."""
    return add_tools(Environment, json.loads((Path(dataset) / "environment.json").read_text())["tools"])
