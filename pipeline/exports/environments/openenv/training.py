"""The tools as methods, for trainers that take a class: `GRPOTrainer(environment_factory=SearchTools)`."""

import os
from typing import Any

from .client import SearchEnv
from .models import SearchAction
from .questions import ENVIRONMENT
from .tool_methods import add_tools

SERVER = os.environ.get("OPENENV_ADDRESS", "http://127.0.0.1:8001")
"""Where this environment's own server answers."""


class SearchTools:
    """One rollout at a time over a connection of its own."""

    def __init__(self) -> None:
        self._env = SearchEnv(base_url=SERVER).sync()

    def reset(self, id: str, **row: Any) -> None:  # noqa: A002 - the name of the column
        """Begin an episode with the question of a row. Nothing is added to the prompt."""
        self._env.reset(question_id=id)
        self._reward = 0.0

    def get_reward(self) -> float:
        return self._reward

    def _call(self, name: str, arguments: dict[str, Any]) -> str:
        step = self._env.step(SearchAction(name=name, arguments=arguments))
        self._reward = step.reward or 0.0
        return step.observation.text


SearchTools = add_tools(SearchTools, ENVIRONMENT["tools"])
