"""What an agent sends to the environment, and what it gets back."""

from typing import Any

from openenv.core.env_server.types import Action, Observation
from pydantic import Field


class SearchAction(Action):
    """One call of a tool. The call of `answer` ends the episode."""

    name: str
    arguments: dict[str, Any] | str = Field(default_factory=dict)
    """What the model wrote, parsed or as text. A tool answers a mistake with an error that the model can read."""


class SearchObservation(Observation):
    question_id: str = ""
    messages: list[dict[str, str]] = Field(default_factory=list)
    """After `reset`: the system prompt and the question."""
    tools: list[dict[str, Any]] = Field(default_factory=list)
    """After `reset`: the tools in OpenAI's format; empty if the system prompt describes them in words."""
    text: str = ""
    """After `step`: the tool message, as the run's own rollouts got it."""
