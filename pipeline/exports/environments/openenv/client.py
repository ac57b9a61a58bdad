"""The client of the environment's server: `with SearchEnv(base_url=...).sync() as env: env.reset(split="train")`."""

from typing import Any

from openenv.core import EnvClient
from openenv.core.client_types import StepResult
from openenv.core.env_server.types import State

from .models import SearchAction, SearchObservation


class SearchEnv(EnvClient[SearchAction, SearchObservation, State]):
    def _step_payload(self, action: SearchAction) -> dict[str, Any]:
        return action.model_dump()

    def _parse_result(self, payload: dict[str, Any]) -> StepResult[SearchObservation]:
        outcome = {"reward": payload.get("reward"), "done": payload.get("done", False)}
        observation = SearchObservation(**payload["observation"], **outcome)
        return StepResult(observation=observation, **outcome)

    def _parse_state(self, payload: dict[str, Any]) -> State:
        return State(**payload)
